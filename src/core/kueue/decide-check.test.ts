/** Tests when the data of a Workload counts as ready. */
import { expect, test } from 'vitest'
import { makeBinding, makeKueueWorkload, NOW } from '../../../test/builders.ts'
import type { AdmissionCheckState } from '../../api/kueue.ts'
import type { BindingDecision } from '../resource-binding/decide.ts'
import {
  type CheckDecision,
  type CheckInput,
  decideCheck,
  MAX_CHECK_MESSAGE,
  openChecks,
  planWorkloadChecks,
} from './decide-check.ts'

const binding = makeBinding()
const placed = (state: BindingDecision['state'], message: string): BindingDecision => ({ state, binding, message })
const held = placed('OnHold', 'default/sales: no DataSource yet')
const narrowed = placed('Narrowed', 'default/sales is in m2')
const untouched = placed('Untouched', '')
const waits = { isReady: false, message: 'waits for VolumeManager weights/bert' }
const ready = { isReady: true, message: 'the data of all required volumes is ready' }

test.each<{ name: string; input: Partial<CheckInput>; decided: [string, string] }>([
  { name: 'names no data', input: {}, decided: ['Ready', 'no claim or volume names data for it'] },
  { name: 'is on hold', input: { placements: [held] }, decided: ['Pending', held.message] },
  { name: 'has located data', input: { placements: [narrowed] }, decided: ['Ready', narrowed.message] },
  {
    name: 'does not need its data',
    input: { placements: [placed('Ignored', 'default/sales: no DataSource yet')] },
    decided: ['Ready', 'default/sales: no DataSource yet'],
  },
  {
    name: 'has exceeded the timeout of its claim',
    input: { placements: [placed('Released', 'default/sales: no DataSource yet')] },
    decided: ['Ready', 'default/sales: no DataSource yet'],
  },
  {
    name: 'waits for a volume',
    input: { placements: [narrowed], volumes: [waits] },
    decided: ['Pending', waits.message],
  },
  {
    name: 'has claims and volumes',
    input: { placements: [narrowed], volumes: [ready, ready] },
    decided: ['Ready', `${narrowed.message}; ${ready.message}`],
  },
  {
    name: 'waits for both',
    input: { placements: [held], volumes: [waits] },
    decided: ['Pending', `${held.message}; ${waits.message}`],
  },
  {
    name: 'may have a claim that cannot be read',
    input: { placements: [untouched], unknown: 'the CRD is being deleted' },
    decided: ['Pending', 'the CRD is being deleted'],
  },
  {
    name: 'has no job yet',
    input: { lacksJob: true, placements: [] },
    decided: ['Pending', 'no job owns this Workload yet; claims name the job'],
  },
])('a Workload that $name', ({ input, decided: [state, message] }) => {
  const { unknown, ...rest } = input
  const whole = { lacksJob: false, placements: [untouched], volumes: [], ...rest, ...(unknown && { unknown }) }
  expect(decideCheck(whole)).toEqual({ state, message })
})

test('the message of many claims is cut, so that it fits into an Event', () => {
  const many = Array.from({ length: 64 }, (_, i) => placed('OnHold', `default/claim-${i}: no DataSource yet`))
  const { message } = decideCheck({ lacksJob: false, placements: many, volumes: [] })
  expect(message).toHaveLength(MAX_CHECK_MESSAGE)
})

const at = '2026-01-02T03:00:00Z'
const now = new Date(NOW).toISOString()
const ofOther = { name: 'other', state: 'Pending' as const, message: 'theirs', lastTransitionTime: at, retryCount: 2 }

function planned(check: Partial<AdmissionCheckState>, decision: CheckDecision) {
  const ours: AdmissionCheckState = { name: 'data', state: 'Pending', lastTransitionTime: at, ...check }
  const workload = makeKueueWorkload({ checks: [ours, ofOther] }, { resourceVersion: '7' })
  return planWorkloadChecks(workload, new Map([['data', decision]]), NOW).actions
}

test('Ready has its time and message, and the check of another controller stays', () => {
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
