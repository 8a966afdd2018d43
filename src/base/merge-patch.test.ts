import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { applyMergePatch, mergePatch } from './merge-patch.ts'

// A merge patch cannot write null: it means "remove".
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }))
const { tree } = fc.letrec((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}))

test('a patch changes one value into the other', async () => {
  await fc.assert(
    fc.property(tree, tree, (before, after) => {
      const patch = mergePatch(before, after)
      expect(patch === undefined ? before : applyMergePatch(before, patch)).toEqual(after)
    }),
  )
})

test('equal values need no patch', async () => {
  await fc.assert(
    fc.property(tree, (value) => {
      expect(mergePatch(value, structuredClone(value))).toBeUndefined()
    }),
  )
})

test('only changed members are in the patch', () => {
  expect(mergePatch({ a: { b: [1], c: 2 }, d: 3 }, { a: { b: [1, 2], c: 2 } })).toEqual({ a: { b: [1, 2] }, d: null })
})

describe('a merge patch', () => {
  // The examples of RFC 7386, appendix A.
  test.each([
    { target: { a: 'b' }, patch: { a: 'c' }, want: { a: 'c' } },
    { target: { a: 'b' }, patch: { b: 'c' }, want: { a: 'b', b: 'c' } },
    { target: { a: 'b' }, patch: { a: null }, want: {} },
    { target: { a: 'b', b: 'c' }, patch: { a: null }, want: { b: 'c' } },
    { target: { a: ['b'] }, patch: { a: 'c' }, want: { a: 'c' } },
    { target: { a: 'c' }, patch: { a: ['b'] }, want: { a: ['b'] } },
    { target: { a: { b: 'c' } }, patch: { a: { b: 'd', c: null } }, want: { a: { b: 'd' } } },
    { target: { a: [{ b: 'c' }] }, patch: { a: [1] }, want: { a: [1] } },
    { target: ['a', 'b'], patch: ['c', 'd'], want: ['c', 'd'] },
    { target: { a: 'b' }, patch: ['c'], want: ['c'] },
    { target: { a: 'foo' }, patch: null, want: null },
    { target: { a: 'foo' }, patch: 'bar', want: 'bar' },
    { target: { e: null }, patch: { a: 1 }, want: { e: null, a: 1 } },
    { target: [1, 2], patch: { a: 'b', c: null }, want: { a: 'b' } },
    { target: {}, patch: { a: { bb: { ccc: null } } }, want: { a: { bb: {} } } },
  ])('$patch applied to $target gives $want', ({ target, patch, want }) => {
    const before = structuredClone(target)
    expect(applyMergePatch(target, patch)).toEqual(want)
    expect(target).toEqual(before)
  })

  test('cannot change a prototype', () => {
    const patched = applyMergePatch({}, JSON.parse('{"__proto__": {"polluted": true}}')) as Record<string, unknown>
    expect(patched['polluted']).toBeUndefined()
    expect(Object.keys(patched)).toEqual(['__proto__'])
  })
})
