import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameDecoder, FrameTooLargeError } from './watch-frames.ts'

function decode(chunks: Uint8Array[], maxBytes?: number): string[] {
  const decoder = new FrameDecoder(maxBytes)
  return chunks.flatMap((chunk) => [...decoder.push(chunk)])
}

describe('watch frames', () => {
  test('come out whole and in order, wherever the stream was cut', () => {
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

  test('may end in either kind of line end, and empty lines are nothing', () => {
    expect(decode([Buffer.from('{"a":1}\r\n\n  \n{"b":2}\n')]).map((line) => JSON.parse(line))).toEqual([
      { a: 1 },
      { b: 2 },
    ])
  })

  test('that do not end are an error, not memory', () => {
    const decoder = new FrameDecoder(100)
    expect([...decoder.push(new Uint8Array(60))]).toEqual([])
    expect(() => [...decoder.push(new Uint8Array(60))]).toThrow(FrameTooLargeError)
  })

  test('are bounded one by one: many small ones are no large one', () => {
    const line = `${'x'.repeat(90)}\n`
    expect(decode([Buffer.from(line.repeat(1000))], 100)).toHaveLength(1000)
    expect(() => decode([Buffer.from(`${'x'.repeat(101)}\n`)], 100)).toThrow(FrameTooLargeError)
  })

  test('that were cut off are never handed out', () => {
    expect(decode([Buffer.from('{"a":1}\n{"type":"ADD')])).toEqual(['{"a":1}'])
  })

  test('that are not UTF-8 are an error, since a replaced character would be a wrong name', () => {
    expect(() => decode([Uint8Array.of(0xff, 0xfe, 0x0a)])).toThrow(TypeError)
  })
})
