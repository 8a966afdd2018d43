import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { combineCrcs, createCrc32c, createCrc64Nvme } from './crc.ts'

const KINDS = [
  { name: 'CRC-32C', called: 'crc32c', create: createCrc32c, width: 32n, polynomial: 0x82f63b78n, check: 'e3069283' },
  {
    name: 'CRC-64/NVME',
    called: 'crc64nvme',
    create: createCrc64Nvme,
    width: 64n,
    polynomial: 0x9a6c9329ac4bc9b5n,
    check: 'ae8b14860a799888',
  },
] as const

describe.each(KINDS)('$name', ({ called, create, width, polynomial, check }) => {
  const of = (...pieces: Uint8Array[]) => {
    const crc = create()
    for (const piece of pieces) crc.update(piece)
    return crc.digest()
  }

  test('has the check value of the CRC catalog', () => {
    expect(of(new TextEncoder().encode('123456789'))).toBe(check)
  })

  test('of no bytes is zero', () => {
    expect(of()).toBe('0'.repeat(check.length))
    expect(of(new Uint8Array())).toBe('0'.repeat(check.length))
  })

  test('equals the definition, bit by bit, for any division into pieces', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), fc.nat(200), (bytes, cut) => {
        const at = Math.min(cut, bytes.length)
        // The second piece begins inside its buffer, as pieces of a connection do.
        expect(of(bytes.subarray(0, at), bytes.subarray(at))).toBe(bitByBit(bytes, width, polynomial))
      }),
    )
  })

  test('of an object is computed from those of its pieces', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }), (pieces) => {
        const combined = combineCrcs(
          called,
          pieces.map((piece) => ({ crc: of(piece), bytes: piece.length })),
        )
        expect(combined).toBe(of(...pieces))
      }),
    )
  })
})

test('the same holds for CRC-32, which the platform computes', () => {
  const pieces = ['1234', '56789'].map((text) => ({ crc: crc32(text).toString(16), bytes: text.length }))
  expect(combineCrcs('crc32', pieces)).toBe('cbf43926')
})

function bitByBit(bytes: Uint8Array, width: bigint, polynomial: bigint): string {
  const ones = (1n << width) - 1n
  let remainder = ones
  for (const byte of bytes) {
    remainder ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >> 1n) ^ (remainder & 1n ? polynomial : 0n)
  }
  return (remainder ^ ones).toString(16).padStart(Number(width) / 4, '0')
}
