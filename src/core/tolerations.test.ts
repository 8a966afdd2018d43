import { expect, test } from 'vitest'
import type { Toleration } from '../api/node.ts'
import { blockingTaints, evictingTaint, taintText } from './tolerations.ts'

test('returns every taint that is not tolerated, in order', () => {
  const taints = [
    { key: 'a', effect: 'NoSchedule' },
    { key: 'b', effect: 'PreferNoSchedule' },
    { key: 'c', value: '1', effect: 'NoExecute' },
  ]
  expect(blockingTaints(taints).map(taintText)).toEqual(['a:NoSchedule', 'c=1:NoExecute'])
  expect(blockingTaints(taints, [{ key: 'a', operator: 'Exists' }]).map(taintText)).toEqual(['c=1:NoExecute'])
  expect(blockingTaints(undefined, undefined)).toEqual([])
})

test.each<{ name: string; tolerations: Toleration[]; want: ReturnType<typeof evictingTaint> }>([
  {
    name: 'none is tolerated: at once',
    tolerations: [],
    want: { taint: { key: 'a', effect: 'NoExecute' }, seconds: 0 },
  },
  { name: 'all are tolerated for ever: never', tolerations: [{ operator: 'Exists' }], want: undefined },
  {
    name: 'the shortest toleration of each taint counts, and the first eviction',
    tolerations: [
      { operator: 'Exists' },
      { key: 'a', operator: 'Exists', tolerationSeconds: 60 },
      { key: 'b', operator: 'Exists', tolerationSeconds: 30 },
    ],
    want: { taint: { key: 'b', effect: 'NoExecute' }, seconds: 30 },
  },
  {
    name: 'a negative number counts as 0',
    tolerations: [{ operator: 'Exists' }, { key: 'a', operator: 'Exists', tolerationSeconds: -5 }],
    want: { taint: { key: 'a', effect: 'NoExecute' }, seconds: 0 },
  },
])('finds the taint that evicts first; $name', ({ tolerations, want }) => {
  const taints = [
    { key: 'c', effect: 'NoSchedule' },
    { key: 'a', effect: 'NoExecute' },
    { key: 'b', effect: 'NoExecute' },
  ]
  expect(evictingTaint(taints, tolerations)).toEqual(want)
})

test('finds no taint that evicts in a cluster without taints', () => {
  expect(evictingTaint(undefined, undefined)).toBeUndefined()
})
