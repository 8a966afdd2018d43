import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import loadWabt from 'wabt'
import { CRC_MODELS } from './combine-crcs.ts'
import { createCrc } from './crc.ts'

/** Four segments of 1 KiB are one block; 256 KiB fit into the memory of the function. */
const BLOCK = 4096

/** `npx vitest run --project unit src/mover/checksum --update` writes the file after a change of the text. */
test('the bytes of crc-module.ts are those of crc.wat', async () => {
  const { parseWat } = await loadWabt()
  const module = parseWat('crc.wat', await readFile(join(import.meta.dirname, 'crc.wat')))
  module.validate()
  const bytes = Buffer.from(module.toBinary({}).buffer).toString('base64')
  const file = `/** The bytes of crc.wat. crc.test.ts writes and compares them. */\nexport const CRC_MODULE =\n  '${bytes}'\n`
  await expect(file).toMatchFileSnapshot('crc-module.ts')
})

describe.each([
  { name: 'crc32c', check: 'e3069283' },
  { name: 'crc64nvme', check: 'ae8b14860a799888' },
] as const)('$name', ({ name, check }) => {
  const of = (...chunks: Uint8Array[]) => {
    const crc = createCrc(name)
    for (const chunk of chunks) crc.update(chunk)
    return crc.digest()
  }

  test('has the check value of the CRC catalog', () => {
    expect(of(new TextEncoder().encode('123456789'))).toBe(check)
  })

  test('of no bytes is zero', () => {
    expect([of(), of(new Uint8Array())]).toEqual(Array(2).fill('0'.repeat(check.length)))
  })

  test.each([1, 7, 8, 9, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK + 1031, 64 * BLOCK + 5])(
    'of %i bytes equals the definition',
    (length) => {
      const bytes = Uint8Array.from({ length }, (_, i) => (i * 2654435761) >>> 24)
      expect(of(bytes)).toBe(bitByBit(bytes))
    },
  )

  test('equals the definition for any division into chunks', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 3 * BLOCK, size: 'max' }), fc.nat(3 * BLOCK), (bytes, cut) => {
        const at = Math.min(cut, bytes.length)
        expect(of(bytes.subarray(0, at), bytes.subarray(at))).toBe(bitByBit(bytes))
      }),
      { numRuns: 20 },
    )
  })

  test('hashers that are used in turns do not disturb each other', () => {
    const [a, b] = [createCrc(name), createCrc(name)]
    for (const text of ['1234', '56789']) {
      a.update(new TextEncoder().encode(text))
      b.update(new Uint8Array(9))
    }
    expect(a.digest()).toBe(check)
  })

  /** Computes with two halves of 32 bits, since BigInt is slow. */
  function bitByBit(bytes: Uint8Array): string {
    const { width, polynomial } = CRC_MODELS[name]
    const [polynomialLow, polynomialHigh] = [Number(polynomial & 0xffffffffn), Number(polynomial >> 32n)]
    let [low, high] = [-1, width === 64 ? -1 : 0]
    for (const byte of bytes) {
      low ^= byte
      for (let bit = 0; bit < 8; bit++) {
        const isOdd = (low & 1) === 1
        low = (low >>> 1) | (high << 31)
        high >>>= 1
        if (isOdd) [low, high] = [low ^ polynomialLow, high ^ polynomialHigh]
      }
    }
    const hex = (half: number) => (~half >>> 0).toString(16).padStart(8, '0')
    return width === 64 ? hex(high) + hex(low) : hex(low)
  }
})
