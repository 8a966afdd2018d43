/** The checksums of objects, and the conversion of their values. */

export type ChecksumAlgorithm = 'md5' | 'sha1' | 'sha256' | 'crc32' | 'crc32c' | 'crc64nvme'

export interface Checksum {
  algorithm: ChecksumAlgorithm
  /** Hexadecimal. */
  value: string
}

/** Converts an MD5 in base64 to hexadecimal; undefined for any other text. */
export function md5FromBase64(text = ''): string | undefined {
  const hex = base64ToHex(text)
  return hex?.length === 32 ? hex : undefined
}

const BASE64 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'

/** Converts base64 to hexadecimal; undefined for text that is not base64. */
export function base64ToHex(text: string): string | undefined {
  let [bits, count, hex] = [0, 0, '']
  for (const char of text.replace(/={1,2}$/, '')) {
    const value = BASE64.indexOf(char)
    if (value < 0) return undefined
    bits = ((bits << 6) | value) & 0xffff
    count += 6
    if (count < 8) continue
    count -= 8
    hex += ((bits >> count) & 0xff).toString(16).padStart(2, '0')
  }
  return hex
}
