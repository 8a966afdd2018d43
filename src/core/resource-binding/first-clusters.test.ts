import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput, unknown } from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { decideBinding } from './decide.ts'
import { firstClusterErrors } from './first-clusters.ts'
import type { BindingInput } from './input.ts'

const waiting = makeBinding({ clusters: [] })
const scheduled = (stored: ResourceBinding, ...names: string[]): ResourceBinding => ({
  ...stored,
  spec: { ...stored.spec, clusters: names.map((name) => ({ name })) },
})

/** The message of the error for a write of the scheduler; undefined without one. */
function error(stored: ResourceBinding, clusters: string[], input: Partial<BindingInput> = {}): string | undefined {
  const binding = scheduled(stored, ...clusters)
  return firstClusterErrors(makeInput({ binding, stored, leavesMovesToLoop: true, ...input }))[0]?.message
}

const narrowed = decideBinding(makeInput({ binding: waiting, stored: waiting, claims: [located(['member2'])] })).binding
const OUTSIDE = 'the data of the workload is in member2, and not in member1; choose again from the present placement'

describe('the first clusters of a workload', () => {
  test('may be those with its data', () => {
    expect(error(narrowed, ['member2'], { claims: [located(['member2'])] })).toBeUndefined()
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
  ])('are rejected if the scheduler chose them $name', ({ stored, input, want }) => {
    expect(error(stored, ['member1', 'member2'], input)).toContain(want)
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
      name: 'runs already',
      stored: scheduled(waiting, 'member3'),
      input: { claims: [located(['member2'])] },
    },
  ])('may be any if it $name', ({ stored, input }) => {
    expect(error(stored, ['member1'], input)).toBeUndefined()
  })

  test('may be any in a binding that is created, for example from a backup', () => {
    const binding = scheduled(waiting, 'member1')
    expect(firstClusterErrors(makeInput({ binding, claims: [located(['member2'])] }))).toEqual([])
  })
})
