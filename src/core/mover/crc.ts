/**
 * Computes the CRCs of S3 objects that the platform does not provide, eight bytes at a time with tables. Combines the CRCs of consecutive
 * pieces into the CRC of the whole.
 */

interface Crc {
  update(bytes: Uint8Array): void
  /** Hexadecimal. */
  digest(): string
}

/** A CRC with reversed bits, inverted before and after. */
interface CrcModel {
  width: 32 | 64
  /** The polynomial with reversed bits. */
  polynomial: bigint
}

/** By their names in S3: Ethernet (RFC 1952), Castagnoli (RFC 3720, appendix B.4), and the NVM Express command set. */
const MODELS = {
  crc32: { width: 32, polynomial: 0xedb88320n },
  crc32c: { width: 32, polynomial: 0x82f63b78n },
  crc64nvme: { width: 64, polynomial: 0x9a6c9329ac4bc9b5n },
} as const satisfies Record<string, CrcModel>

export type CrcName = keyof typeof MODELS

export function isCrc(algorithm: string): algorithm is CrcName {
  return Object.hasOwn(MODELS, algorithm)
}

const SLICES = 8
const ENTRIES = 256

/**
 * The effect of each byte on the two halves of the remainder, at index `followers * 256 + byte`: followers is the number of bytes after it.
 */
interface Tables {
  low: Int32Array
  high: Int32Array
}

function makeTables({ polynomial }: CrcModel): Tables {
  const [polynomialLow, polynomialHigh] = [Number(polynomial & 0xffffffffn), Number(polynomial >> 32n)]
  const low = new Int32Array(SLICES * ENTRIES)
  const high = new Int32Array(SLICES * ENTRIES)
  for (let byte = 0; byte < ENTRIES; byte++) {
    let [l, h] = [byte, 0]
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = (l & 1) === 1
      l = (l >>> 1) | (h << 31)
      h >>>= 1
      if (isOdd) [l, h] = [l ^ polynomialLow, h ^ polynomialHigh]
    }
    low[byte] = l
    high[byte] = h
  }
  for (let i = ENTRIES; i < SLICES * ENTRIES; i++) {
    const [l, h] = [get(low, i - ENTRIES), get(high, i - ENTRIES)]
    low[i] = ((l >>> 8) | (h << 24)) ^ get(low, l & 255)
    high[i] = (h >>> 8) ^ get(high, l & 255)
  }
  return { low, high }
}

/** The index must exist. It is not merged with `byteAt`, because V8 generates slower code for a function with two kinds of arrays. */
function get(words: Int32Array, i: number): number {
  return words[i] as number
}

function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] as number
}

/** Returns one half of the new remainder for eight bytes, which are already combined with the old remainder. */
function fold(table: Int32Array, a: number, b: number): number {
  return (
    get(table, 1792 + (a & 255)) ^
    get(table, 1536 + ((a >>> 8) & 255)) ^
    get(table, 1280 + ((a >>> 16) & 255)) ^
    get(table, 1024 + (a >>> 24)) ^
    get(table, 768 + (b & 255)) ^
    get(table, 512 + ((b >>> 8) & 255)) ^
    get(table, 256 + ((b >>> 16) & 255)) ^
    get(table, b >>> 24)
  )
}

/** Whether the processor is little-endian. Words are read in its byte order; on a big-endian one, each byte is processed separately. */
const HAS_LOW_BYTE_FIRST = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1

/** Returns the part of the bytes that can be read as pairs of words, and its start. */
function wordsOf(bytes: Uint8Array): { start: number; words: Int32Array } {
  const start = Math.min(bytes.length, (4 - (bytes.byteOffset % 4)) % 4)
  const count = HAS_LOW_BYTE_FIRST ? ((bytes.length - start) >>> 3) * 2 : 0
  return { start, words: new Int32Array(bytes.buffer, count === 0 ? 0 : bytes.byteOffset + start, count) }
}

const crc32cTables = makeTables(MODELS.crc32c)
const crc64NvmeTables = makeTables(MODELS.crc64nvme)

/** A remainder of 32 bits is in the lower half. */
export function createCrc32c(): Crc {
  const table = crc32cTables.low
  let remainder = -1

  function takeBytes(bytes: Uint8Array, start: number, end: number): void {
    let r = remainder
    for (let at = start; at < end; at++) r = (r >>> 8) ^ get(table, (r ^ byteAt(bytes, at)) & 255)
    remainder = r
  }

  return {
    update(bytes) {
      const { start, words } = wordsOf(bytes)
      takeBytes(bytes, 0, start)
      let r = remainder
      for (let i = 0; i < words.length; i += 2) r = fold(table, r ^ get(words, i), get(words, i + 1))
      remainder = r
      takeBytes(bytes, start + words.byteLength, bytes.length)
    },
    digest: () => hex(~remainder),
  }
}

export function createCrc64Nvme(): Crc {
  const { low, high } = crc64NvmeTables
  let [remainderLow, remainderHigh] = [-1, -1]

  function takeBytes(bytes: Uint8Array, start: number, end: number): void {
    let [l, h] = [remainderLow, remainderHigh]
    for (let at = start; at < end; at++) {
      const i = (l ^ byteAt(bytes, at)) & 255
      l = ((l >>> 8) | (h << 24)) ^ get(low, i)
      h = (h >>> 8) ^ get(high, i)
    }
    remainderLow = l
    remainderHigh = h
  }

  return {
    update(bytes) {
      const { start, words } = wordsOf(bytes)
      takeBytes(bytes, 0, start)
      let [l, h] = [remainderLow, remainderHigh]
      for (let i = 0; i < words.length; i += 2) {
        const a = l ^ get(words, i)
        const b = h ^ get(words, i + 1)
        l = fold(low, a, b)
        h = fold(high, a, b)
      }
      remainderLow = l
      remainderHigh = h
      takeBytes(bytes, start + words.byteLength, bytes.length)
    },
    digest: () => hex(~remainderHigh) + hex(~remainderLow),
  }
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0')
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
  const model = MODELS[name]
  const shifts = new Map<number, bigint>()
  let combined = 0n
  for (const { crc, bytes } of pieces) {
    const shift = shifts.get(bytes) ?? powerOfX(BigInt(bytes) * 8n, model)
    // Nearly all pieces have the same length.
    shifts.set(bytes, shift)
    combined = multiply(combined, shift, model) ^ BigInt(`0x${crc}`)
  }
  return combined.toString(16).padStart(model.width / 4, '0')
}

/** Multiplies modulo the polynomial. The highest bit is 1, since all bits are reversed. */
function multiply(a: bigint, b: bigint, { width, polynomial }: CrcModel): bigint {
  let product = 0n
  let shifted = b
  for (let bit = 1n << BigInt(width - 1); bit > 0n; bit >>= 1n) {
    if (a & bit) product ^= shifted
    shifted = (shifted >> 1n) ^ (shifted & 1n ? polynomial : 0n)
  }
  return product
}

function powerOfX(exponent: bigint, model: CrcModel): bigint {
  const one = 1n << BigInt(model.width - 1)
  let power = one
  let square = one >> 1n
  for (let left = exponent; left > 0n; left >>= 1n) {
    if (left & 1n) power = multiply(power, square, model)
    square = multiply(square, square, model)
  }
  return power
}
