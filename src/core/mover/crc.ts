/** CRC-32C and CRC-64/NVME, which S3 servers give of whole objects and the platform does not compute; eight bytes at a time, by tables. */

interface Crc {
  update(bytes: Uint8Array): void
  /** In hexadecimal. */
  digest(): string
}

/** A polynomial with its bits reversed, in two halves; of 32 bits only the lower one is used. */
interface Polynomial {
  high: number
  low: number
}

/** Castagnoli's (RFC 3720, appendix B.4). */
const CRC32C: Polynomial = { high: 0, low: 0x82f63b78 }
/** Of the NVM Express command set, revision 1.0, chapter 5.2.1.3.4. */
const CRC64_NVME: Polynomial = { high: 0x9a6c9329, low: 0xac4bc9b5 }

const SLICES = 8
const ENTRIES = 256

/** What each byte does to the remainder, by how many bytes follow it: at `followers * 256 + byte`. */
interface Tables {
  low: Int32Array
  high: Int32Array
}

function makeTables(polynomial: Polynomial): Tables {
  const low = new Int32Array(SLICES * ENTRIES)
  const high = new Int32Array(SLICES * ENTRIES)
  for (let byte = 0; byte < ENTRIES; byte++) {
    let [l, h] = [byte, 0]
    for (let bit = 0; bit < 8; bit++) {
      const isOdd = (l & 1) === 1
      l = (l >>> 1) | (h << 31)
      h >>>= 1
      if (isOdd) [l, h] = [l ^ polynomial.low, h ^ polynomial.high]
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

/** Of places that are there. Not one function with `byteAt`: for arrays of two kinds the compiler makes slower code. */
function get(table: Int32Array, i: number): number {
  return table[i] as number
}

function byteAt(bytes: Uint8Array, i: number): number {
  return bytes[i] as number
}

/** Four bytes, the first of them lowest. */
function word(bytes: Uint8Array, at: number): number {
  return (
    byteAt(bytes, at) | (byteAt(bytes, at + 1) << 8) | (byteAt(bytes, at + 2) << 16) | (byteAt(bytes, at + 3) << 24)
  )
}

/** What eight bytes, already mixed with the remainder, come to in one half of it. */
function fold(t: Int32Array, a: number, b: number): number {
  return (
    get(t, 1792 + (a & 255)) ^
    get(t, 1536 + ((a >>> 8) & 255)) ^
    get(t, 1280 + ((a >>> 16) & 255)) ^
    get(t, 1024 + (a >>> 24)) ^
    get(t, 768 + (b & 255)) ^
    get(t, 512 + ((b >>> 8) & 255)) ^
    get(t, 256 + ((b >>> 16) & 255)) ^
    get(t, b >>> 24)
  )
}

/** A remainder of 32 bits stays in the lower half. */
export function createCrc32c(): Crc {
  const t = crc32cTables.low
  let remainder = -1
  return {
    update(bytes) {
      let [r, at] = [remainder, 0]
      for (const end = bytes.length - 7; at < end; at += 8) r = fold(t, r ^ word(bytes, at), word(bytes, at + 4))
      for (; at < bytes.length; at++) r = (r >>> 8) ^ get(t, (r ^ byteAt(bytes, at)) & 255)
      remainder = r
    },
    digest: () => hex(~remainder),
  }
}

export function createCrc64Nvme(): Crc {
  const { low, high } = crc64NvmeTables
  let remainder = { l: -1, h: -1 }
  return {
    update(bytes) {
      let { l, h } = remainder
      let at = 0
      for (const end = bytes.length - 7; at < end; at += 8) {
        const a = l ^ word(bytes, at)
        const b = h ^ word(bytes, at + 4)
        l = fold(low, a, b)
        h = fold(high, a, b)
      }
      for (; at < bytes.length; at++) {
        const i = (l ^ byteAt(bytes, at)) & 255
        l = ((l >>> 8) | (h << 24)) ^ get(low, i)
        h = (h >>> 8) ^ get(high, i)
      }
      remainder = { l, h }
    },
    digest: () => hex(~remainder.h) + hex(~remainder.l),
  }
}

function hex(half: number): string {
  return (half >>> 0).toString(16).padStart(8, '0')
}

const crc32cTables = makeTables(CRC32C)
const crc64NvmeTables = makeTables(CRC64_NVME)
