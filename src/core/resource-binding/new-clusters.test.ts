import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput, unknown } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'
import { newClusterErrors } from './new-clusters.ts'

const waiting = makeBinding({ clusters: [] })
const scheduled = (stored: ResourceBinding, ...names: string[]): ResourceBinding => ({
  ...stored,
  spec: { ...stored.spec, clusters: names.map((name) => ({ name })) },
})

/** The errors for a write of the scheduler. */
function errors(stored: ResourceBinding, clusters: string[], input: Partial<BindingInput> = {}): FieldError[] {
  const binding = scheduled(stored, ...clusters)
  return newClusterErrors(makeInput({ binding, stored, leavesMovesToLoop: true, ...input }))
}

const narrowed = decideBinding(makeInput({ binding: waiting, stored: waiting, claims: [located(['member2'])] })).binding
const broken = lookup('member1', 'member3', makeCluster('member2', { taints: [{ key: 'k', effect: 'NoExecute' }] }))
const ran = { ...narrowed, status: { lastScheduledTime: '2026-01-01T00:00:00Z' } }
const relaxed = decideBinding(
  makeInput({ binding: ran, stored: ran, claims: [located(['member2'])], clusters: broken }),
).binding
const OUTSIDE = 'the data of the workload is in member2, and not in member1; choose again from the present placement'

describe('new clusters of a workload', () => {
  test('may be those with its data', () => {
    expect(errors(narrowed, ['member2'], { claims: [located(['member2'])] })).toEqual([])
  })

  test.each<{ name: string; stored: ResourceBinding; input: Partial<BindingInput>; want: string }>([
    {
      name: 'before the placement was narrowed',
      stored: narrowed,
      input: { claims: [located(['member2'])] },
      want: OUTSIDE,
    },
    {
      name: 'before its claim was known',
      stored: waiting,
      input: { claims: [located(['member2'])] },
      want: OUTSIDE,
    },
    {
      name: 'before its claim was known, and the location is not known yet',
      stored: waiting,
      input: { claims: [unknown()] },
      want: 'cannot be set yet (default/sales: no DataSource yet); it is scheduled when the hold ends',
    },
    {
      name: 'before its claim was known, and the cluster with its data cannot take it',
      stored: waiting,
      input: {
        claims: [located(['member2'])],
        clusters: lookup('member1', makeCluster('member2', { taints: [{ key: 'k', effect: 'NoSchedule' }] })),
      },
      want: 'cannot be set yet (',
    },
    {
      name: 'before the placement was narrowed, and it runs with its data',
      stored: scheduled(narrowed, 'member2'),
      input: { claims: [located(['member2'])] },
      want: OUTSIDE,
    },
  ])('are rejected if the scheduler chose them $name', ({ stored, input, want }) => {
    expect(errors(stored, ['member1', 'member2'], input)).toEqual([
      { path: 'spec.clusters', code: 'Forbidden', message: expect.stringContaining(want) },
    ])
  })

  test.each<{ name: string; stored: ResourceBinding; input: Partial<BindingInput> }>([
    { name: 'has no claim', stored: waiting, input: { claims: [] } },
    {
      name: 'has a claim that never holds it',
      stored: waiting,
      input: { claims: [unknown({ onUnresolved: 'Ignore' })] },
    },
    {
      name: 'only prefers its data',
      stored: waiting,
      input: { claims: [located(['member2'], { enforcement: 'Preferred' })] },
    },
    {
      name: 'runs elsewhere until the loop moves it',
      stored: scheduled(waiting, 'member3'),
      input: { claims: [located(['member2'])] },
    },
    {
      name: 'runs there already',
      stored: scheduled(narrowed, 'member1'),
      input: { claims: [located(['member2'])] },
    },
    {
      name: 'is relaxed after an eviction',
      stored: relaxed,
      input: { claims: [located(['member2'])], clusters: broken },
    },
  ])('may be any if it $name', ({ stored, input }) => {
    expect(errors(stored, ['member1'], input)).toEqual([])
  })

  test('are not rejected in a write without any, also while the workload waits', () => {
    expect(errors(waiting, [], { claims: [unknown()] })).toEqual([])
  })

  test('may be any in a binding that is created, for example from a backup', () => {
    const binding = scheduled(waiting, 'member1')
    expect(newClusterErrors(makeInput({ binding, claims: [located(['member2'])] }))).toEqual([])
  })
})
