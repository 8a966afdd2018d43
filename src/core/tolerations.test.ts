import { expect, test } from 'vitest'
import { blockingTaints, taintText } from './tolerations.ts'

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
