import fc from 'fast-check'
import { expect, test } from 'vitest'
import { CRC_MODELS, type CrcModel, combineCrcs, isCrc, multiply, powerOfX } from './combine-crcs.ts'

/** The definition of a CRC, bit by bit. */
function crcOf(bytes: Uint8Array, { width, polynomial }: CrcModel): string {
  const ones = (1n << BigInt(width)) - 1n
  let remainder = ones
  for (const byte of bytes) {
    remainder ^= BigInt(byte)
    for (let bit = 0; bit < 8; bit++) remainder = (remainder >> 1n) ^ (remainder & 1n ? polynomial : 0n)
  }
  return (remainder ^ ones).toString(16).padStart(width / 4, '0')
}

const checks = { crc32: 'cbf43926', crc32c: 'e3069283', crc64nvme: 'ae8b14860a799888' } as const

test.each(['crc32', 'crc32c', 'crc64nvme'] as const)('%s has the check value of the CRC catalog', (name) => {
  expect(crcOf(new TextEncoder().encode('123456789'), CRC_MODELS[name])).toBe(checks[name])
})

test.each(['crc32', 'crc32c', 'crc64nvme'] as const)('%s of an object is computed from those of its pieces', (name) => {
  const model = CRC_MODELS[name]
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 50 }), { maxLength: 5 }), (pieces) => {
      const combined = combineCrcs(
        name,
        pieces.map((piece) => ({ crc: crcOf(piece, model), bytes: piece.length })),
      )
      expect(combined).toBe(crcOf(Uint8Array.from(pieces.flatMap((piece) => [...piece])), model))
    }),
  )
})

test.each(['crc32', 'crc64nvme'] as const)('powers of x are multiplied by adding their exponents (%s)', (name) => {
  const model = CRC_MODELS[name]
  fc.assert(
    fc.property(fc.nat(5000), fc.nat(5000), (a, b) => {
      expect(multiply(powerOfX(a, model), powerOfX(b, model), model)).toBe(powerOfX(a + b, model))
    }),
  )
})

test('other checksums of S3 are no CRCs', () => {
  expect(['crc32', 'crc64nvme', 'sha256', 'toString'].map(isCrc)).toEqual([true, true, false, false])
})
