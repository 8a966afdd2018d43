import { describe, expect, test } from 'vitest'
import { fnv1a, fnv1a32, listDigest } from './hash.ts'

/** FNV-1a with 64 bits, by its definition: slow, over code units. */
function reference(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let i = 0; i < text.length; i++)
    hash = ((hash ^ BigInt(text.charCodeAt(i))) * 0x100000001b3n) & 0xffffffffffffffffn
  return hash.toString(36).padStart(13, '0')
}

test.each(['', 'a', 'foobar', 'ein längerer Text mit 界', 'x'.repeat(1000)])('the hash of %j is FNV-1a', (text) => {
  expect(fnv1a(text)).toBe(reference(text))
  expect(fnv1a(text)).toMatch(/^[0-9a-z]{13}$/)
})

describe('the digest of a list', () => {
  test('has 16 hexadecimal digits, and is always the same', () => {
    expect(listDigest(['a', 'b'])).toMatch(/^[0-9a-f]{16}$/)
    expect(listDigest(['a', 'b'])).toBe(listDigest(['a', 'b']))
  })

  test.each([
    { name: 'the order', one: ['a', 'b'], other: ['b', 'a'] },
    { name: 'the end of each text', one: ['ab'], other: ['a', 'b'] },
    { name: 'an empty text', one: [], other: [''] },
    { name: 'one more text', one: ['a'], other: ['a', 'a'] },
  ])('depends on $name', ({ one, other }) => {
    expect(listDigest(one)).not.toBe(listDigest(other))
  })
})

test.each([
  ['', 0x811c9dc5],
  ['a', 0xe40c292c],
  ['foobar', 0xbf9cf968],
])('the hash of %j with 32 bits is that of the reference implementation', (text, want) => {
  expect(fnv1a32(text)).toBe(want)
})
