import { describe, expect, test } from 'vitest'
import { makeBinding, makeClaim, NOW } from '../../../test/builders.ts'
import { dataSourceClaims } from '../../api/data-source-claim.ts'
import { HOLD_ANNOTATION } from '../../api/lodestone.ts'
import type { Condition } from '../../api/meta.ts'
import type { Answer } from '../data-source/locate.ts'
import { planHoldCondition, withoutPastHold } from './hold-condition.ts'
import type { NotHonored } from './hold-not-honored.ts'

const report: NotHonored = {
  result: 'restored',
  message: 'scheduled to member1; the hold is restored',
  decisionId: 'de51ad0000',
}
const lastTransitionTime = '2026-01-01T00:00:00Z'
const bound: Condition = { type: 'Bound', status: 'False', reason: 'Resolving', message: '', lastTransitionTime }
const recorded: Condition = {
  type: 'HoldNotHonored',
  status: 'True',
  reason: 'Restored',
  message: report.message,
  lastTransitionTime: new Date(NOW).toISOString(),
  observedGeneration: 2,
}
const metadata = { generation: 2, resourceVersion: '7' }
const claim = { ...makeClaim({}, metadata), status: { conditions: [bound] } }
const after = { ...claim, status: { conditions: [bound, recorded] } }

test('the condition is added to others for the resourceVersion that was read, once', () => {
  expect(planHoldCondition(claim, report, NOW)).toEqual([
    {
      kind: 'patch',
      of: { type: dataSourceClaims, namespace: 'default', name: 'sales' },
      patch: { metadata: { resourceVersion: '7' }, status: { conditions: [bound, recorded] } },
      subresource: 'status',
    },
  ])
  expect(planHoldCondition(after, report, NOW + 1)).toEqual([])
  expect(planHoldCondition({ ...claim, dropped: ['spec.policy'] }, report, NOW)).toEqual([])
})

test('a workload that runs has another reason', () => {
  const [action] = planHoldCondition(makeClaim(), { ...report, result: 'scheduled' }, NOW)
  expect(action).toMatchObject({ patch: { status: { conditions: [{ reason: 'Scheduled', status: 'True' }] } } })
})

describe('the condition stays until the workload is with its data', () => {
  const hold = JSON.stringify({ message: 'm', reason: 'Unresolved', since: new Date(NOW).toISOString() })
  const suspended = { suspension: { scheduling: true } }
  const onHold = makeBinding(suspended, { annotations: { [HOLD_ANNOTATION]: hold } })
  const inClusters = (...names: string[]) => makeBinding({ clusters: names.map((name) => ({ name })) })
  const located: Answer = { kind: 'located', clusters: ['member1', 'member2'], bytes: undefined }

  test.each<{ name: string; bindings: ReturnType<typeof makeBinding>[]; answer?: Answer; stays: boolean }>([
    { name: 'on hold', bindings: [onHold], stays: true },
    { name: 'not scheduled', bindings: [makeBinding()], stays: true },
    { name: 'partly elsewhere', bindings: [inClusters('member1', 'member3')], stays: true },
    { name: 'one of two bindings elsewhere', bindings: [inClusters('member1'), inClusters('member3')], stays: true },
    {
      name: 'at an unknown location',
      bindings: [inClusters('member1')],
      answer: { kind: 'unknown', reason: 'no DataSource yet' },
      stays: true,
    },
    { name: 'with its data', bindings: [inClusters('member1')], stays: false },
    { name: 'deleted', bindings: [], stays: false },
  ])('$name', ({ bindings, answer = located, stays }) => {
    expect(withoutPastHold([bound, recorded], bindings, answer)).toEqual(stays ? [bound, recorded] : [bound])
  })

  test('a claim without a status has none', () => {
    expect(withoutPastHold(undefined, [], located)).toBeUndefined()
  })
})
