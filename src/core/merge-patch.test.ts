import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { mergePatch } from './merge-patch.ts'

/** RFC 7386 §2, as the API server applies it. */
function applyPatch(target: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch
  const result: Record<string, unknown> =
    typeof target === 'object' && target !== null && !Array.isArray(target) ? { ...target } : {}
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete result[key]
    else result[key] = applyPatch(result[key], value)
  }
  return result
}

// A merge patch cannot write null: it means "remove".
const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer(), { maxLength: 3 }))
const { tree } = fc.letrec((tie) => ({
  tree: fc.dictionary(fc.constantFrom('a', 'b', 'c', 'd'), fc.oneof({ depthSize: 'small' }, leaf, tie('tree')), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
}))

test('applied to the one it gives the other', async () => {
  await fc.assert(
    fc.property(tree, tree, (before, after) => {
      const patch = mergePatch(before, after)
      expect(patch === undefined ? before : applyPatch(before, patch)).toEqual(after)
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

test('touches only what changes', () => {
  expect(mergePatch({ a: { b: [1], c: 2 }, d: 3 }, { a: { b: [1, 2], c: 2 } })).toEqual({ a: { b: [1, 2] }, d: null })
})
