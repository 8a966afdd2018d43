import fc from 'fast-check'
import fastJsonPatch from 'fast-json-patch'
import { describe, expect, test } from 'vitest'
import { diffJson } from './diff.ts'

describe('a patch', () => {
  test.each<{ name: string; before: unknown; after: unknown; want: unknown[] }>([
    { name: 'is empty for the same value', before: { a: [1] }, after: { a: [1] }, want: [] },
    {
      name: 'adds a new member',
      before: {},
      after: { a: { b: 1 } },
      want: [{ op: 'add', path: '/a', value: { b: 1 } }],
    },
    {
      name: 'adds a missing map as a whole',
      before: { metadata: {} },
      after: { metadata: { annotations: { 'a/b': 'x' } } },
      want: [{ op: 'add', path: '/metadata/annotations', value: { 'a/b': 'x' } }],
    },
    {
      name: 'removes a member that is absent in the new value',
      before: { a: 1, b: 2 },
      after: { a: 1 },
      want: [{ op: 'remove', path: '/b' }],
    },
    {
      name: 'removes a member that became undefined',
      before: { a: 1 },
      after: { a: undefined },
      want: [{ op: 'remove', path: '/a' }],
    },
    {
      name: 'removes a member whose name every object inherits',
      before: { toString: 1 },
      after: {},
      want: [{ op: 'remove', path: '/toString' }],
    },
    {
      name: 'replaces a changed member',
      before: { a: { b: 1 } },
      after: { a: { b: 2 } },
      want: [{ op: 'replace', path: '/a/b', value: 2 }],
    },
    {
      name: 'replaces lists as a whole',
      before: { a: [1, 2] },
      after: { a: [2] },
      want: [{ op: 'replace', path: '/a', value: [2] }],
    },
    {
      name: 'replaces a map by a list',
      before: { a: {} },
      after: { a: [] },
      want: [{ op: 'replace', path: '/a', value: [] }],
    },
    { name: 'replaces null', before: { a: null }, after: { a: {} }, want: [{ op: 'replace', path: '/a', value: {} }] },
    {
      name: 'escapes slashes and tildes in names',
      before: { 'a/b~c': 1, '~1': 1 },
      after: { 'a/b~c': 2, '~1': 2 },
      want: [
        { op: 'replace', path: '/a~1b~0c', value: 2 },
        { op: 'replace', path: '/~01', value: 2 },
      ],
    },
    { name: 'may replace the root', before: 1, after: 2, want: [{ op: 'replace', path: '', value: 2 }] },
    {
      name: 'does not change an equal member called __proto__',
      before: JSON.parse('{"__proto__":{"x":1},"a":1}'),
      after: JSON.parse('{"__proto__":{"x":1},"a":2}'),
      want: [{ op: 'replace', path: '/a', value: 2 }],
    },
    {
      name: 'removes a member called __proto__ only if it is absent in the new value',
      before: JSON.parse('{"__proto__":1}'),
      after: {},
      want: [{ op: 'remove', path: '/__proto__' }],
    },
  ])('$name', ({ before, after, want }) => {
    expect(diffJson(before, after)).toEqual(want)
  })

  test('does not visit members that both sides share', () => {
    const shared = Object.defineProperty({}, 'trap', {
      enumerable: true,
      get() {
        throw new Error('walked')
      },
    })
    expect(diffJson({ shared, a: 1 }, { shared, a: 2 })).toEqual([{ op: 'replace', path: '/a', value: 2 }])
  })

  test('changes any value into any other', () => {
    const key = fc.constantFrom('a', 'b', 'a/b', '~', '', '0', 'toString', 'constructor')
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        fc.constantFrom(null, true, 0, 'text'),
        fc.array(tie('value'), { maxLength: 3 }),
        fc.dictionary(key, tie('value'), { maxKeys: 4 }),
      ),
    }))
    fc.assert(
      fc.property(value, value, (before, after) => {
        const document = structuredClone(before)
        const { newDocument } = fastJsonPatch.applyPatch(document, structuredClone(diffJson(before, after)), true)
        expect(JSON.parse(JSON.stringify(newDocument))).toEqual(JSON.parse(JSON.stringify(after)))
      }),
      { numRuns: 500 },
    )
  })
})
