import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Taint, Toleration } from '../api/node.ts'
import { defined } from '../base/json.ts'
import { type EvictingTaint, Tolerations, taintText } from './tolerations.ts'

test('returns every taint that is not tolerated, in order', () => {
  const taints = [
    { key: 'a', effect: 'NoSchedule' },
    { key: 'b', effect: 'PreferNoSchedule' },
    { key: 'c', value: '1', effect: 'NoExecute' },
  ]
  expect(new Tolerations().blocking(taints).map(taintText)).toEqual(['a:NoSchedule', 'c=1:NoExecute'])
  expect(new Tolerations([{ key: 'a', operator: 'Exists' }]).blocking(taints).map(taintText)).toEqual(['c=1:NoExecute'])
  expect(new Tolerations(undefined).blocking(undefined)).toEqual([])
})

test.each<{ name: string; tolerations: Toleration[]; want: EvictingTaint | undefined }>([
  {
    name: 'none is tolerated: at once',
    tolerations: [],
    want: { taint: { key: 'a', effect: 'NoExecute' }, seconds: 0 },
  },
  { name: 'all are tolerated for ever: never', tolerations: [{ operator: 'Exists' }], want: undefined },
  {
    name: 'the first toleration of each taint counts, and the first eviction',
    tolerations: [
      { key: 'a', operator: 'Exists', tolerationSeconds: 60 },
      { key: 'b', operator: 'Exists', tolerationSeconds: 30 },
      { operator: 'Exists' },
    ],
    want: { taint: { key: 'b', effect: 'NoExecute' }, seconds: 30 },
  },
  {
    name: 'a later toleration of a taint does not count',
    tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists', tolerationSeconds: 60 }],
    want: undefined,
  },
  {
    name: 'each taint has a first toleration of its own',
    tolerations: [
      { key: 'a', operator: 'Exists' },
      { operator: 'Exists', tolerationSeconds: 60 },
    ],
    want: { taint: { key: 'b', effect: 'NoExecute' }, seconds: 60 },
  },
  {
    name: 'one of two is not tolerated: at once, whatever the other one is',
    tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: 60 }],
    want: { taint: { key: 'b', effect: 'NoExecute' }, seconds: 0 },
  },
  {
    name: 'a negative number counts as 0',
    tolerations: [{ key: 'a', operator: 'Exists', tolerationSeconds: -5 }, { operator: 'Exists' }],
    want: { taint: { key: 'a', effect: 'NoExecute' }, seconds: 0 },
  },
])('finds the taint that evicts first; $name', ({ tolerations, want }) => {
  const taints = [
    { key: 'c', effect: 'NoSchedule' },
    { key: 'a', effect: 'NoExecute' },
    { key: 'b', effect: 'NoExecute' },
  ]
  expect(new Tolerations(tolerations).evicting(taints)).toEqual(want)
})

test('finds no taint that evicts in a cluster without taints', () => {
  expect(new Tolerations(undefined).evicting(undefined)).toBeUndefined()
})

/** Kubernetes' ToleratesTaint without the operators Lt and Gt, in its own words. */
function toleratesAlone({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  if (operator === undefined || operator === '' || operator === 'Equal') return (value ?? '') === (taint.value ?? '')
  return operator === 'Exists'
}

test('tolerations that are prepared match as each of them alone does', () => {
  const text = (...values: string[]) => fc.option(fc.constantFrom(...values), { nil: undefined })
  const toleration = fc.record({
    key: text('', 'a', 'b'),
    operator: text('', 'Equal', 'Exists', 'Gt'),
    value: text('', '1', '2'),
    effect: text('', 'NoSchedule', 'NoExecute'),
    tolerationSeconds: fc.option(fc.integer({ min: -5, max: 90 }), { nil: undefined }),
  })
  const taint = fc.record({
    key: fc.constantFrom('a', 'b'),
    value: text('', '1', '2'),
    effect: fc.constantFrom('NoSchedule', 'NoExecute', 'PreferNoSchedule'),
  })
  fc.assert(
    fc.property(fc.array(toleration, { maxLength: 5 }), fc.array(taint, { maxLength: 3 }), (drawn, tainted) => {
      const tolerations = drawn.map((one) => defined(one))
      const taints = tainted.map((one) => defined(one))
      const matching = (one: Taint) => tolerations.filter((each) => toleratesAlone(each, one))
      const prepared = new Tolerations(tolerations)
      const blocking = taints.filter((one) => one.effect !== 'PreferNoSchedule' && matching(one).length === 0)
      expect(prepared.blocking(taints)).toEqual(blocking)
      // Karmada's GetMatchingTolerations and GetMinTolerationTime, in their own words.
      const executing = taints.filter(({ effect }) => effect === 'NoExecute')
      const used = executing.flatMap((one) => matching(one).slice(0, 1))
      const times = used.flatMap(({ tolerationSeconds }) => tolerationSeconds ?? [])
      const isTolerated = used.length === executing.length
      const seconds = isTolerated ? Math.max(0, Math.min(...times)) : 0
      const evicts = executing.length > 0 && Number.isFinite(seconds)
      expect(prepared.evicting(taints)?.seconds).toEqual(evicts ? seconds : undefined)
    }),
    { numRuns: 2000 },
  )
})

test('half a million tolerations are no exception', () => {
  const many = new Tolerations(Array.from({ length: 500_000 }, () => ({ operator: 'Exists' })))
  expect(many.evicting([{ key: 'a', effect: 'NoExecute' }])).toBeUndefined()
})
