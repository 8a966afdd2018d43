import { describe, expect, test } from 'vitest'
import {
  defined,
  isSameSet,
  jsonEqual,
  memberNames,
  parseJson,
  sortedUnique,
  without,
  withoutEmpties,
  withoutNulls,
} from './json.ts'

describe('jsonEqual', () => {
  test.each<{ name: string; a: unknown; b: unknown; want: boolean }>([
    { name: 'the order of members does not matter', a: { a: 1, b: [2] }, b: { b: [2], a: 1 }, want: true },
    { name: 'the order of a list matters', a: [1, 2], b: [2, 1], want: false },
    { name: 'an undefined member counts as absent', a: { a: undefined }, b: {}, want: true },
    { name: 'null is not absent', a: { a: null }, b: {}, want: false },
    { name: 'a list differs from an object', a: [], b: {}, want: false },
    { name: 'a longer list differs', a: [1], b: [1, 2], want: false },
    {
      name: 'a member on the prototype is ignored',
      a: { toString: 1 },
      b: { b: 1 },
      want: false,
    },
    {
      name: 'a member called __proto__ is data',
      a: JSON.parse('{"__proto__":1}'),
      b: JSON.parse('{"x":1}'),
      want: false,
    },
    { name: 'a number differs from its text', a: 1, b: '1', want: false },
  ])('$name', ({ a, b, want }) => {
    expect([jsonEqual(a, b), jsonEqual(b, a)]).toEqual([want, want])
  })
})

describe('withoutEmpties', () => {
  test.each<{ name: string; value: unknown; want: unknown }>([
    { name: 'empty lists and maps are removed', value: { a: [], b: {}, c: 1 }, want: { c: 1 } },
    { name: 'an object with only empty members is removed', value: { a: { b: { c: [] } }, d: 'x' }, want: { d: 'x' } },
    { name: 'an object with only empty members is undefined', value: { a: { b: [] } }, want: undefined },
    {
      name: 'zero, false, null and empty text stay',
      value: { a: 0, b: false, c: null, d: '' },
      want: { a: 0, b: false, c: null, d: '' },
    },
    { name: 'items of lists are cleaned', value: [{ key: 'tier', values: [] }], want: [{ key: 'tier' }] },
  ])('$name', ({ value, want }) => {
    expect(withoutEmpties(value)).toEqual(want)
  })
})

describe('withoutNulls', () => {
  test.each<{ name: string; value: unknown; want: unknown }>([
    { name: 'members are removed at any depth', value: { a: null, b: { c: null, d: 1 } }, want: { b: { d: 1 } } },
    { name: 'an object without other members stays', value: { a: { b: null } }, want: { a: {} } },
    { name: 'items of lists stay, and their members are pruned', value: [null, { a: null }], want: [null, {}] },
    { name: 'a value that is null stays', value: null, want: null },
    { name: 'zero, false and empty text stay', value: { a: 0, b: false, c: '' }, want: { a: 0, b: false, c: '' } },
  ])('$name', ({ value, want }) => {
    const before = structuredClone(value)
    expect(withoutNulls(value)).toEqual(want)
    expect(value).toEqual(before)
  })

  test('a value without nulls is not copied, nor is a subtree without nulls', () => {
    const kept = { list: [{ a: 1 }] }
    expect(withoutNulls(kept)).toBe(kept)
    expect(withoutNulls<Record<string, unknown>>({ kept, gone: null })['kept']).toBe(kept)
  })
})

test('names are sorted by code unit, without duplicates', () => {
  expect(sortedUnique(['b', 'a', 'b', 'B', '10', '9'])).toEqual(['10', '9', 'B', 'a', 'b'])
})

test('two lists are the same set in any order, also with duplicates', () => {
  expect(isSameSet(['b', 'a'], ['a', 'b', 'b'])).toBe(true)
  expect(isSameSet(['a'], ['a', 'b'])).toBe(false)
})

test.each<{ text: unknown; want: unknown }>([
  { text: '{"a":[1]}', want: { a: [1] } },
  { text: 'null', want: null },
  { text: '{', want: undefined },
  { text: '', want: undefined },
  { text: undefined, want: undefined },
  { text: { a: 1 }, want: undefined },
])('JSON that another program wrote: $text', ({ text, want }) => {
  expect(parseJson(text)).toEqual(want)
})

test('without returns a copy with the other members, and changes nothing', () => {
  const object = { a: 1, b: undefined, c: { d: 2 } }
  const hostile = JSON.parse('{"__proto__": {"d": 1}, "a": 1}')
  expect(JSON.stringify(without(hostile, 'a'))).toBe('{"__proto__":{"d":1}}')
  expect([without(object, 'a'), Object.keys(without(object, 'a')), without(object), object]).toEqual([
    { b: undefined, c: object.c },
    ['b', 'c'],
    object,
    { a: 1, b: undefined, c: { d: 2 } },
  ])
})

describe('defined', () => {
  const absent = [1].find((n) => n > 1)

  test('members that are undefined go, and the order of the others stays', () => {
    expect(Object.entries(defined({ z: 1, a: undefined, b: absent, c: 'x' }))).toEqual([
      ['z', 1],
      ['c', 'x'],
    ])
  })

  test('null, zero, false, empty text and empty lists stay', () => {
    const values = { a: null, b: 0, c: false, d: '', e: [] }
    expect(defined(values)).toEqual(values)
  })

  test('a member that may be undefined is optional, and literal types stay', () => {
    const result: { kind: 'a' | 'b'; names: string[]; count?: number } = defined({
      kind: 'a',
      names: [],
      count: absent,
    })
    expect(Object.keys(result)).toEqual(['kind', 'names'])
    // @ts-expect-error: a member that may be undefined is not a required member
    const required: { count: number } = defined({ count: absent })
    expect(required).toEqual({})
  })
})

describe('the names of members', () => {
  test.each([0, 3, 5000])('of an object with %d members are in their order', (count) => {
    const object = Object.fromEntries(Array.from({ length: count }, (_, i) => [`key-${i}`, i]))
    expect(memberNames(object)).toEqual(Object.keys(object))
    expect(memberNames(object)).toEqual(Object.keys(object))
  })

  test('of a small object follow its changes', () => {
    const object: Record<string, number> = { a: 1 }
    memberNames(object)
    object['b'] = 2
    expect(memberNames(object)).toEqual(['a', 'b'])
  })
})
