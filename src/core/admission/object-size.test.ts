import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { fitsIntoBytes, jsonBytes, MAX_OBJECT_BYTES } from './object-size.ts'

describe('the bytes of a value as JSON', () => {
  test('are those of JSON.stringify in UTF-8, for any value', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: 'binary' }), (value) => {
        expect(jsonBytes(value)).toBe(Buffer.byteLength(JSON.stringify(value)))
      }),
    )
  })

  test('do not include members that are undefined, since JSON has none', () => {
    expect(jsonBytes({ a: undefined, b: [{}], c: { d: undefined } })).toBe('{"b":[{}],"c":{}}'.length)
  })

  test.each([
    { name: 'a text', value: 'x'.repeat(100) },
    { name: 'a list', value: Array.from({ length: 40 }, () => 1) },
    { name: 'a map', value: Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`k${i}`, i])) },
  ])('fit exactly up to the limit: $name', ({ value }) => {
    const bytes = JSON.stringify(value).length
    expect([bytes, bytes - 1].map((limit) => fitsIntoBytes(value, limit))).toEqual([true, false])
  })

  test('are measured up to the limit: one large text in many places is read a few times', () => {
    let reads = 0
    const shared = {
      get text() {
        reads++
        return 'x'.repeat(100_000)
      },
    }
    expect(fitsIntoBytes(Array.from({ length: 10_000 }, () => shared))).toBe(false)
    expect(reads).toBe(Math.ceil(MAX_OBJECT_BYTES / 100_000))
  })
})
