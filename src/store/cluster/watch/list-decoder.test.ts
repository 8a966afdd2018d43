import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cut } from './cut.fake.ts'
import { ListDecoder } from './list-decoder.ts'

function decode(chunks: readonly Uint8Array[], maxItemBytes?: number): { items: unknown[]; envelope: object } {
  const decoder = new ListDecoder(maxItemBytes)
  const items = chunks.flatMap((chunk) => decoder.push(chunk))
  return { items, envelope: decoder.end() }
}

/** Objects with many brackets, quotes and escapes, in names and in values. */
const awkward = fc.stringMatching(/^[{}[\]",\\a-z:é😀 ]*$/u)
const item = fc.dictionary(awkward, fc.jsonValue({ stringUnit: awkward, maxDepth: 4 }))

describe('a list that arrives in chunks', () => {
  test('has the same objects and metadata as a list that is parsed at once', () => {
    const list = fc.record({ items: fc.array(item), metadata: item, kind: awkward })
    const members = fc.shuffledSubarray(['kind', 'items', 'metadata'] as const, { minLength: 3 })
    const sizes = fc.array(fc.nat({ max: 50 }))
    const space = fc.constantFrom(0, 2)
    fc.assert(
      fc.property(list, members, sizes, space, (given, order, at, indent) => {
        const document = Object.fromEntries(order.map((member) => [member, given[member]]))
        const bytes = Buffer.from(JSON.stringify(document, null, indent))
        const { items, ...envelope } = JSON.parse(bytes.toString())
        expect(decode(cut(bytes, at))).toEqual({ items, envelope: { ...envelope, items: [] } })
      }),
    )
  })

  test.each([0, 1])('may be split at any byte, with %i bytes between the parts', (between) => {
    const items = [{ name: 'a"]}\\', 'b\\"': ['é', { c: '[{😀' }] }, {}, { d: '\\\\' }]
    const bytes = Buffer.from(JSON.stringify({ '"items\\': '[', items, metadata: { resourceVersion: '7' } }))
    for (let at = 0; at <= bytes.length; at++) expect(decode(cut(bytes, [at, between])).items).toEqual(items)
  })

  test('returns each object with the chunk that completes it', () => {
    const decoder = new ListDecoder()
    const push = (text: string) => decoder.push(Buffer.from(text))
    expect(push('{"kind":"List","items":[{"name":"a"},{"na')).toEqual([{ name: 'a' }])
    expect(push('me":"b')).toEqual([])
    expect(push('"},{"name":"c"}')).toEqual([{ name: 'b' }, { name: 'c' }])
    expect(push('],"metadata":{"resourceVersion":"7"}}\n')).toEqual([])
    expect(decoder.end()).toMatchObject({ metadata: { resourceVersion: '7' } })
  })

  test.each([
    { name: 'no items', text: '{"metadata":{"resourceVersion":"7"},"items":[]}' },
    { name: 'null for items', text: '{"items":null,"metadata":{"resourceVersion":"7"}}' },
    { name: 'without items', text: '{"metadata":{"resourceVersion":"7"}}' },
    { name: 'items elsewhere', text: '{"metadata":{"items":[{"a":1}],"resourceVersion":"7"},"columns":[{"b":2}]}' },
  ])('may have $name', ({ text }) => {
    const { items, envelope } = decode([Buffer.from(text)])
    expect(items).toEqual([])
    expect(envelope).toMatchObject({ metadata: { resourceVersion: '7' } })
  })

  test.each([
    { name: 'ends early', text: '{"metadata":{},"items":[{"a":1},{"b"', error: SyntaxError },
    { name: 'ends within its items', text: '{"metadata":{},"items":[{"a":1}', error: SyntaxError },
    { name: 'is not JSON', text: 'hello', error: SyntaxError },
    { name: 'is empty', text: '', error: SyntaxError },
    { name: 'has an object that is not JSON', text: '{"items":[{"a":oops}]}', error: SyntaxError },
    { name: 'is not an object', text: '"hello"', error: /is not an object/ },
    { name: 'is not UTF-8', text: Buffer.from([0x7b, 0xff, 0x7d]), error: TypeError },
  ])('throws when it $name', ({ text, error }) => {
    expect(() => decode([Buffer.from(text)])).toThrow(error)
  })

  test.each([
    { name: 'without a comma', between: '' },
    { name: 'with two commas', between: ',,' },
    { name: 'with a number', between: '.5,' },
  ])('throws when its chunks join $name', ({ between }) => {
    const [first, second] = ['{"items":[{}', '{}]}'].map((text) => Buffer.from(text))
    expect(() => decode([first ?? Buffer.alloc(0), Buffer.from(between), second ?? Buffer.alloc(0)])).toThrow(
      SyntaxError,
    )
  })

  test('has a size limit for each object, not for their sum', () => {
    const items = Array.from({ length: 100 }, (_, i) => ({ i, padding: 'x'.repeat(50) }))
    const bytes = Buffer.from(JSON.stringify({ items }))
    const chunks = cut(
      bytes,
      Array.from({ length: 200 }, () => 64),
    )
    expect(decode(chunks, 200).items).toHaveLength(100)
    expect(() => decode(chunks, 60)).toThrow('more than 60 bytes')
  })
})
