import fc from 'fast-check'
import { expect, test } from 'vitest'
import { labelProblem } from '../../../base/names.ts'
import { volumeName } from './inject.ts'

test.each([
  ['plain names are joined', ['mnist', 'vol1'], 'mnist--vol1'],
  ['a plain shard is appended', ['mnist', 'vol1', 'a'], 'mnist--vol1--a'],
])('%s', (_name, [manager = '', id = '', shard], want) => {
  expect(volumeName(manager, id, shard)).toBe(want)
})

test.each([
  ['dots', 'my.data', 'vol1', /^my-data-vol1-[0-9a-z]{13}$/],
  ['capitals and other characters', 'a', 'Vol_1 ü', /^a-vol-1-[0-9a-z]{13}$/],
  ['too many characters', 'm'.repeat(100), 'vol1', /^m{49}-[0-9a-z]{13}$/],
  ['only invalid characters', 'a', '***', /^a-[0-9a-z]{13}$/],
])('%s are replaced, and a hash makes the name unique', (_name, manager, id, want) => {
  expect(volumeName(manager, id)).toMatch(want)
})

test('every volume has a unique name that is valid in Kubernetes', () => {
  const part = fc.oneof(
    fc.stringMatching(/^[ab.-]{1,4}$/),
    fc.string({ minLength: 1, maxLength: 80 }),
    fc.constantFrom('a--b', 'a', 'b', 'b--c'),
  )
  const parts = fc.tuple(part, part, fc.option(part, { nil: undefined }))
  fc.assert(
    fc.property(parts, parts, (one, other) => {
      expect(labelProblem(volumeName(...one))).toBeUndefined()
      const isSame = JSON.stringify(one) === JSON.stringify(other)
      expect(volumeName(...one) === volumeName(...other)).toBe(isSame)
    }),
    { numRuns: 1_000 },
  )
})
