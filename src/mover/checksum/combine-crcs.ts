/** The CRCs of S3 objects, and the combination of the CRCs of consecutive pieces into the CRC of the whole. */

/** A CRC with reversed bits, inverted before and after. */
export interface CrcModel {
  width: 32 | 64
  /** The polynomial with reversed bits. */
  polynomial: bigint
}

/** By their names in S3: Ethernet (RFC 1952), Castagnoli (RFC 3720, appendix B.4), and the NVM Express command set. */
export const CRC_MODELS = {
  crc32: { width: 32, polynomial: 0xedb88320n },
  crc32c: { width: 32, polynomial: 0x82f63b78n },
  crc64nvme: { width: 64, polynomial: 0x9a6c9329ac4bc9b5n },
} as const satisfies Record<string, CrcModel>

export type CrcName = keyof typeof CRC_MODELS

export function isCrc(algorithm: string): algorithm is CrcName {
  return Object.hasOwn(CRC_MODELS, algorithm)
}

/** A piece of an object, with its CRC. */
export interface CrcPiece {
  /** Hexadecimal. */
  crc: string
  bytes: number
}

/**
 * Combines the CRCs of consecutive pieces. The remainder of the earlier pieces is shifted by the length of the next piece, and added. The
 * shift is a multiplication by a power of x.
 */
export function combineCrcs(name: CrcName, pieces: readonly CrcPiece[]): string {
  const model = CRC_MODELS[name]
  const shifts = new Map<number, bigint>()
  let combined = 0n
  for (const { crc, bytes } of pieces) {
    const shift = shifts.get(bytes) ?? powerOfX(bytes * 8, model)
    // Nearly all pieces have the same length.
    shifts.set(bytes, shift)
    combined = multiply(combined, shift, model) ^ BigInt(`0x${crc}`)
  }
  return combined.toString(16).padStart(model.width / 4, '0')
}

/** Multiplies modulo the polynomial. The highest bit is the number 1, since all bits are reversed. */
export function multiply(a: bigint, b: bigint, { width, polynomial }: CrcModel): bigint {
  let product = 0n
  let shifted = b
  for (let bit = 1n << BigInt(width - 1); bit > 0n; bit >>= 1n) {
    if (a & bit) product ^= shifted
    shifted = (shifted >> 1n) ^ (shifted & 1n ? polynomial : 0n)
  }
  return product
}

/** Returns a power of x modulo the polynomial. A remainder times x^n is the remainder after n further bits of zero. */
export function powerOfX(exponent: number, model: CrcModel): bigint {
  const one = 1n << BigInt(model.width - 1)
  let power = one
  let square = one >> 1n
  for (let left = BigInt(exponent); left > 0n; left >>= 1n) {
    if (left & 1n) power = multiply(power, square, model)
    square = multiply(square, square, model)
  }
  return power
}
