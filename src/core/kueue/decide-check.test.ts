/** Tests when the data of a Workload counts as ready. */
import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { BindingDecision } from '../resource-binding/decide.ts'
import { type CheckInput, decideCheck, MAX_CHECK_MESSAGE } from './decide-check.ts'

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
