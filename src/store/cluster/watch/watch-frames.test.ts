import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameDecoder, FrameTooLargeError } from './watch-frames.ts'

function decode(chunks: Uint8Array[], maxBytes?: number): string[] {
  const decoder = new FrameDecoder(maxBytes)
  return chunks.flatMap((chunk) => [...decoder.push(chunk)])
}

describe('watch frames', () => {
  test('are complete and in order, with any chunk borders', () => {
    const lines = fc.array(
      fc
        .string({ unit: 'binary', minLength: 1 })
        .filter((line) => !line.includes('\n') && line.trim() !== '' && line.isWellFormed()),
    )
    fc.assert(
      fc.property(lines, fc.array(fc.nat({ max: 40 })), (wanted, sizes) => {
        const bytes = Buffer.from(wanted.map((line) => `${line}\n`).join(''))
        const chunks: Uint8Array[] = []
        let start = 0
        for (const size of sizes) {
          chunks.push(bytes.subarray(start, start + size))
          start = Math.min(bytes.length, start + size)
        }
        chunks.push(bytes.subarray(start))
        expect(decode(chunks)).toEqual(wanted.map((line) => line.replace(/^\uFEFF/, '')))
      }),
    )
  })

  test('may end with LF or CRLF, and empty lines are skipped', () => {
    expect(decode([Buffer.from('{"a":1}\r\n\n  \n{"b":2}\n')]).map((line) => JSON.parse(line))).toEqual([
      { a: 1 },
      { b: 2 },
    ])
  })

  test('without an end throw at a limit', () => {
    const decoder = new FrameDecoder(100)
    expect([...decoder.push(new Uint8Array(60))]).toEqual([])
    expect(() => [...decoder.push(new Uint8Array(60))]).toThrow(FrameTooLargeError)
  })

  test('have a size limit each, not for their sum', () => {
    const line = `${'x'.repeat(90)}\n`
    expect(decode([Buffer.from(line.repeat(1000))], 100)).toHaveLength(1000)
    expect(() => decode([Buffer.from(`${'x'.repeat(101)}\n`)], 100)).toThrow(FrameTooLargeError)
  })

  test('that are incomplete are not returned', () => {
    expect(decode([Buffer.from('{"a":1}\n{"type":"ADD')])).toEqual(['{"a":1}'])
  })

  test('that are not UTF-8 throw, since a replaced character could change a name', () => {
    expect(() => decode([Uint8Array.of(0xff, 0xfe, 0x0a)])).toThrow(TypeError)
  })
})
