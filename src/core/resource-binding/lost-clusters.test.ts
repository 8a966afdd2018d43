import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput } from '../../../test/builders.ts'
import { APPLIED_PLACEMENT_ANNOTATION, type ResourceBinding } from '../../api/karmada.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'
import { lostClusterErrors } from './lost-clusters.ts'

const claims = [located(['member2'])]
const waiting = makeBinding({ clusters: [] })
const narrowed = decideBinding(makeInput({ binding: waiting, stored: waiting, claims })).binding
/** Its data has moved to member2, which had no room for it. */
const moving = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member1' }] } }
const clusters = lookup('member1', 'member3', makeCluster('member2', { taints: [{ key: 'k', effect: 'NoSchedule' }] }))

const all = lookup('member1', 'member2', 'member3')

/** The choice of the scheduler when no cluster fits. */
function emptied(stored: ResourceBinding, applied: unknown = stored.spec.placement): ResourceBinding {
  const annotations = { ...stored.metadata.annotations, [APPLIED_PLACEMENT_ANNOTATION]: JSON.stringify(applied) }
  return { ...stored, metadata: { ...stored.metadata, annotations }, spec: { ...stored.spec, clusters: [] } }
}

const errors = (binding: ResourceBinding, stored: ResourceBinding, input: Partial<BindingInput> = {}) =>
  lostClusterErrors(makeInput({ binding, stored, claims, clusters, leavesMovesToLoop: true, ...input }))

describe('the scheduler may not take a workload out of all clusters', () => {
  test('when the clusters with its data refuse it, and the base has one for it', () => {
    const [error] = errors(emptied(moving), moving)
    expect(error).toMatchObject({ path: 'spec.clusters', code: 'Forbidden' })
    expect(error?.message).toMatch(
      /^would be empty, and the workload may stay where it runs: .*member2 has the taint k:NoSchedule/,
    )
  })

  test('for a reason that Lodestone does not know, or not yet', () => {
    const [error] = errors(emptied(moving), moving, { clusters: all })
    expect(error?.message).toBe(
      'would be empty, and the workload may stay where it runs: no cluster of the placement that was tried takes the workload; choose again',
    )
  })

  test('by a choice from the placement before it got its base back', () => {
    const next = decideBinding(
      makeInput({ binding: moving, stored: moving, claims, clusters, leavesMovesToLoop: true }),
    )
    expect(next.state).toBe('Relaxed')
    const late = emptied(next.binding, moving.spec.placement)
    expect(errors(late, next.binding)).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(/^would be empty, and the workload may stay where it runs/),
      }),
    ])
  })

  test('and finds a cluster for it with the placement of the next decision', () => {
    const next = decideBinding(
      makeInput({ binding: moving, stored: moving, claims, clusters, leavesMovesToLoop: true }),
    )
    expect(next.state).toBe('Relaxed')
    const chosen = { ...next.binding, spec: { ...next.binding.spec, clusters: [{ name: 'member1' }] } }
    expect(errors(chosen, next.binding)).toEqual([])
  })
})

describe('a write without clusters is accepted', () => {
  const recorded = { ...emptied(moving), spec: moving.spec }
  const home = { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'member2' }] } }
  const evicted = { ...emptied(moving), metadata: moving.metadata }
  const idle = { ...moving, spec: { ...moving.spec, replicas: 0, replicaRequirements: {} } }
  const task = { fromCluster: 'member1', reason: 'TaintUntolerated', producer: 'TaintManager' }

  test.each<{ name: string; binding: ResourceBinding; stored: ResourceBinding; input?: Partial<BindingInput> }>([
    { name: 'before the workload runs', binding: emptied(narrowed), stored: narrowed },
    { name: 'of an eviction', binding: evicted, stored: moving },
    {
      name: 'of a graceful eviction',
      binding: { ...evicted, spec: { ...evicted.spec, gracefulEvictionTasks: [task] } },
      stored: moving,
    },
    { name: 'that records a placement that was recorded before', binding: emptied(recorded), stored: recorded },
    {
      name: 'if no cluster of the base is left',
      binding: emptied(moving),
      stored: moving,
      input: { clusters: lookup(makeCluster('member2', { taints: [{ key: 'k', effect: 'NoSchedule' }] })) },
    },
    {
      name: 'if the cluster where the workload runs does not exist any more',
      binding: emptied(moving),
      stored: moving,
      input: { clusters: lookup('member2', 'member3') },
    },
    {
      name: 'of a workload with its data, if its cluster accepts it as far as Lodestone knows',
      binding: emptied(home),
      stored: home,
      input: { clusters: all },
    },
    {
      name: 'of a workload that is scaled to zero while it moves',
      binding: emptied(idle),
      stored: idle,
      input: { clusters: all },
    },
    { name: 'of a workload without a claim', binding: emptied(waiting), stored: waiting, input: { claims: [] } },
  ])('$name', ({ binding, stored, input }) => {
    expect(errors(binding, stored, input)).toEqual([])
  })
})
