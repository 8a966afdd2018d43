/** Tests the writes of the checks of a Workload. */
import { expect, test } from 'vitest'
import { makeKueueWorkload, NOW } from '../../../test/builders.ts'
import type { AdmissionCheckState } from '../../api/kueue.ts'
import type { CheckDecision } from './decide-check.ts'
import { openChecks, planWorkloadChecks } from './plan-workload.ts'

const at = '2026-01-02T03:00:00Z'
const now = new Date(NOW).toISOString()
const ofOther = { name: 'other', state: 'Pending' as const, message: 'theirs', lastTransitionTime: at, retryCount: 2 }

function planned(check: Partial<AdmissionCheckState>, decision: CheckDecision) {
  const ours: AdmissionCheckState = { name: 'data', state: 'Pending', lastTransitionTime: at, ...check }
  const workload = makeKueueWorkload({ checks: [ours, ofOther] }, { resourceVersion: '7' })
  return planWorkloadChecks(workload, new Map([['data', decision]]), NOW).actions
}

test('Ready is written with its time and message, and the check of another controller stays as it is', () => {
  expect(planned({}, { state: 'Ready', message: 'default/sales is in m2' })).toMatchObject([
    {
      kind: 'patch',
      of: { namespace: 'default', name: 'job-train' },
      subresource: 'status',
      patch: {
        metadata: { resourceVersion: '7' },
        status: {
          admissionChecks: [
            { name: 'data', state: 'Ready', message: 'default/sales is in m2', lastTransitionTime: now },
            ofOther,
          ],
        },
      },
    },
  ])
})

test('a new message keeps the time of the transition', () => {
  const [action] = planned({ message: 'before' }, { state: 'Pending', message: 'after' })
  expect(action).toMatchObject({
    patch: { status: { admissionChecks: [{ state: 'Pending', message: 'after', lastTransitionTime: at }, ofOther] } },
  })
})

test('a new state with the same message is written', () => {
  const [action] = planned({ message: 'same' }, { state: 'Ready', message: 'same' })
  expect(action).toMatchObject({
    patch: { status: { admissionChecks: [{ state: 'Ready', message: 'same', lastTransitionTime: now }, ofOther] } },
  })
})

test('nothing is written for the same state and message', () => {
  expect(planned({ message: 'same' }, { state: 'Pending', message: 'same' })).toEqual([])
})

test.each([
  { name: 'Kueue waits for it', workload: makeKueueWorkload(), isOurs: true, open: ['data'] },
  { name: 'it is of another controller', workload: makeKueueWorkload(), isOurs: false, open: [] },
  { name: 'no quota is reserved', workload: makeKueueWorkload({ conditions: [] }), isOurs: true, open: [] },
])('a check is open if $name: $open', ({ workload, isOurs, open }) => {
  expect(openChecks(workload, () => isOurs).map(({ name }) => name)).toEqual(open)
})

test('a Workload without a status has no check, so none is open and nothing is written', () => {
  const { status: _, ...workload } = makeKueueWorkload()
  expect(openChecks(workload, () => true)).toEqual([])
  const decisions = new Map([['data', { state: 'Ready', message: 'x' } as const]])
  expect(planWorkloadChecks(workload, decisions, NOW).actions).toEqual([])
})

test('a Workload with quota but no list of checks has no open check', () => {
  const workload = makeKueueWorkload()
  const { admissionChecks: _, ...status } = workload.status ?? {}
  expect(openChecks({ ...workload, status }, () => true)).toEqual([])
})
