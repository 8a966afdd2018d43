/** Reads the checksum of an object from the response headers of an S3 server. */
import { base64ToHex, type Checksum } from '../../base/checksum.ts'
import { unquoteEtag } from '../objects/object-store.ts'

/** In the order of preference: the strongest first. */
const HEADERS = ['sha256', 'sha1', 'crc64nvme', 'crc32c', 'crc32'] as const

/** Returns the checksum of an object from response headers; undefined if none covers the whole object. */
export function checksumOf(headers: Readonly<Record<string, string | undefined>>): Checksum | undefined {
  for (const algorithm of HEADERS) {
    const value = headers[`x-amz-checksum-${algorithm}`]
    // For an object that was uploaded in parts, it may be a checksum of the parts' checksums: `value-<number of parts>`.
    if (value === undefined || /-\d+$/.test(value) || headers['x-amz-checksum-type'] === 'COMPOSITE') continue
    const hex = base64ToHex(value)
    if (hex !== undefined) return { algorithm, value: hex }
  }
  const etag = unquoteEtag(headers['etag']).toLowerCase()
  const isMd5 = /^[0-9a-f]{32}$/.test(etag) && !isEncryptedByKey(headers)
  return isMd5 ? { algorithm: 'md5', value: etag } : undefined
}

/** Whether the ETag is not the MD5 of the content, because a customer's key or a KMS key encrypts the object. */
export function isEncryptedByKey(headers: Readonly<Record<string, string | undefined>>): boolean {
  const encryption = headers['x-amz-server-side-encryption']
  return (
    (encryption !== undefined && encryption !== 'AES256') ||
    headers['x-amz-server-side-encryption-customer-algorithm'] !== undefined
  )
}
