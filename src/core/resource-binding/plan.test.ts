import { describe, expect, test } from 'vitest'
import { bind, healthy, loop, one, runsIn, write } from '../../../test/binding-writes.ts'
import {
  located,
  lookup,
  makeBinding,
  makeClaim,
  makeCluster,
  makeInput,
  makePolicyInput,
  NOW,
  unknown,
} from '../../../test/builders.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION, HOLD_ANNOTATION, LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { decideBinding } from './decide.ts'
import { bindingEvents, planBinding } from './plan.ts'
import { DEFAULT_TIMING } from './timing.ts'

const running = makeBinding({ clusters: [{ name: 'member1', replicas: 2 }] })
const plan = (binding = running, cluster = 'member3') =>
  planBinding(makeInput({ binding, stored: binding, claims: [located([cluster])] }))

test('a workload whose cluster is no longer allowed moves', () => {
  expect(plan()).toMatchObject({ moves: true, actions: [{ kind: 'patch' }] })
})

test('a placement changed without Lodestone is narrowed again, with Warning Events', () => {
  const narrowed = decideBinding(
    makeInput({ binding: running, stored: running, claims: [located(['member1'])] }),
  ).binding
  const clusters = [{ name: 'member3' }, { name: 'member1' }]
  const changed = {
    ...narrowed,
    spec: { ...narrowed.spec, placement: running.spec.placement, clusters },
  } as ResourceBinding
  const claim = makeClaim()
  const { moves, actions } = planBinding({
    ...makeInput({ binding: changed, stored: changed, claims: [located(['member1'])] }),
    claimObjects: [claim],
  })

  const decisionId = bindingDecisionId(narrowed)
  const event = { kind: 'event', type: 'Warning', reason: 'LocalityNarrowedAgain', decisionId }
  const message =
    'the placement was changed while Lodestone was not available, and its workload was scheduled to member1, member3; now default/sales is in member1'
  expect(moves).toBe(true)
  expect(actions.slice(1)).toEqual([changed, claim].map((about) => ({ ...event, about, message })))
  const alone = planBinding(makeInput({ binding: changed, stored: changed, claims: [located(['member1'])] }))
  expect(alone.actions.slice(1)).toEqual([{ ...event, about: changed, message }])
})

test('a workload that is narrowed to its present clusters does not move', () => {
  expect(plan(running, 'member1')).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test('a workload that is not scheduled yet does not move', () => {
  expect(plan(makeBinding())).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test.each([
  { name: 'every cluster', placement: {} },
  { name: 'clusters with labels', placement: { clusterAffinity: { labelSelector: { matchLabels: { a: 'b' } } } } },
  {
    name: 'some clusters by name, and others by labels',
    placement: {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['member3'] },
        { affinityName: 'b', labelSelector: { matchLabels: { a: 'b' } } },
      ],
    },
  },
])('a workload whose restored base has $name does not count as moved', ({ placement }) => {
  const binding = makeBinding({ placement, clusters: [{ name: 'member1', replicas: 2 }] })
  const narrowed = decideBinding(makeInput({ binding, stored: binding, claims: [located(['member1'])] })).binding
  const restored = planBinding(makeInput({ binding: narrowed, stored: narrowed, claims: [] }))
  expect(restored).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test('a plan without a time limit has no requeue', () => {
  expect(plan()).not.toHaveProperty('requeueAfterMs')
})

test.each([
  { name: 'the patch takes the placement of a policy that differs', policy: ['member2'], want: true },
  { name: 'the patch does not depend on the policy', policy: ['member1', 'member2', 'member3'], want: undefined },
])('a plan asks for the current policy if $name', ({ policy: clusterNames, want }) => {
  const { binding } = decideBinding(
    makeInput({ binding: running, stored: running, claims: [located(['member1', 'member2'])] }),
  )
  const policy = makePolicyInput({ placement: { clusterAffinity: { clusterNames } } })
  const input = { binding, stored: binding, policy, claims: [located(['member2'])] }
  expect(planBinding(makeInput(input))).toMatchObject({ moves: true, actions: [{ kind: 'patch' }] })
  expect(planBinding(makeInput(input)).needsPolicy).toBe(want)
})

test('a plan that removes the base asks for the current policy', () => {
  const policy = makePolicyInput({ placement: makeBinding().spec.placement ?? {} })
  const given = { claims: [located(['member1'])], policy }
  const { binding } = decideBinding(makeInput({ binding: makeBinding(), stored: makeBinding(), ...given }))
  expect(planBinding(makeInput({ binding, stored: binding, policy, claims: [] })).needsPolicy).toBe(true)
})

test('a workload whose scheduler has not acted yet is not moved again by any write', () => {
  const moved = decideBinding(makeInput({ binding: running, stored: running, claims: [located(['member3'])] })).binding
  const { [LOCALITY_ANNOTATION]: _note, ...annotations } = moved.metadata.annotations ?? {}
  const mended = { ...moved, metadata: { ...moved.metadata, annotations } }

  expect(plan(mended)).toMatchObject({ moves: false, actions: [{ kind: 'patch' }] })
})

test.each([
  { name: 'nothing, without a time limit', claims: [located(['member1'])], waitMs: undefined },
  { name: 'a claim that is being deleted', claims: [located(['member1'], { honoredUntil: NOW + 3000 })], waitMs: 3000 },
  { name: 'a hold that times out', claims: [unknown({ holdTimeoutSeconds: 60 })], waitMs: 60_000 },
  {
    name: 'the first of several times',
    claims: [unknown({ holdTimeoutSeconds: 60 }), unknown({ claim: 'default/b', honoredUntil: NOW + 3000 })],
    waitMs: 3000,
  },
])('a binding is reconciled again because of $name', ({ claims, waitMs }) => {
  const binding = makeBinding()

  expect(planBinding(makeInput({ binding, stored: binding, claims })).requeueAfterMs).toBe(waitMs)
})

describe('the budget of moves counts', () => {
  const a = located(['m2'], { claim: 'default/a' })
  const b = located(['m2', 'm3'], { claim: 'default/b' })
  const prefers = (...names: string[]) => [located(names, { enforcement: 'Preferred' })]
  const narrowed = loop(bind(runsIn('m2')), [a, b]).binding
  const waiting = loop(narrowed, [b]).binding
  const toThree = loop(bind(runsIn('m2')), [b]).binding
  const groups = [['m1', 'm2'], ['m3']].map((clusterNames, i) => ({ affinityName: `g${i}`, clusterNames }))
  const inSecond = loop(
    bind({ ...runsIn('m3'), placement: { clusterAffinities: groups } }, { schedulerObservingAffinityName: 'g1' }),
    [located(['m1', 'm3'])],
  ).binding
  const divided = { replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const fallenBack: ResourceBinding = {
    ...loop(bind({ ...runsIn('m1'), placement: divided }), prefers('m2')).binding,
    status: { schedulerObservingAffinityName: 'default' },
  }
  const policyOf = (...names: string[]) => ({ policy: makePolicyInput({ placement: one(...names) }) })
  const leaving = { ...makeCluster('m3'), metadata: { name: 'm3', deletionTimestamp: '2026-01-01T00:00:00Z' } }
  const later = { now: NOW + DEFAULT_TIMING.releaseDelayMs }

  test.each<{ name: string; binding: ResourceBinding; claims: ClaimAnswer[]; more?: object; want: boolean }>([
    { name: 'the end of a narrowing', binding: loop(narrowed, []).binding, claims: [], more: later, want: true },
    { name: 'the end of the wait for one of several claims', binding: waiting, claims: [b], more: later, want: true },
    {
      name: 'a return to the first group, if the cluster of the chosen one is being deleted',
      binding: inSecond,
      claims: [located(['m1', 'm3'])],
      more: { clusters: lookup('m1', 'm2', leaving) },
      want: true,
    },
    {
      name: 'no end of a narrowing before the workload runs',
      binding: loop(bind({}), [a]).binding,
      claims: [],
      want: false,
    },
    { name: 'no wait', binding: narrowed, claims: [b], want: false },
    { name: 'no wait that goes on', binding: waiting, claims: [b], more: policyOf('m1', 'm2'), want: false },
    {
      name: 'no new cluster with the data',
      binding: loop(bind(runsIn('m2')), [a]).binding,
      claims: [located(['m2', 'm3'], { claim: 'default/a' })],
      want: false,
    },
    {
      name: 'no new cluster after the location was unknown',
      binding: loop(loop(bind(runsIn('m2')), [located(['m2'])]).binding, [unknown()]).binding,
      claims: [located(['m2', 'm3'])],
      want: false,
    },
    { name: 'no relaxed placement', binding: toThree, claims: [b], more: policyOf('m1'), want: false },
    {
      name: 'no preference that the scheduler does not apply',
      binding: fallenBack,
      claims: prefers('m3'),
      want: false,
    },
  ])('$name', ({ binding, claims, more, want }) => {
    const planned = planBinding(makeInput({ binding, stored: binding, claims, clusters: healthy, ...more }))
    expect(planned).toMatchObject({ moves: want, actions: [{ kind: 'patch' }] })
  })
})

describe('a scheduled workload is decided again after', () => {
  const timing = { failbackWindowMs: 70_000, releaseDelayMs: 20_000 }
  const claims = [located(['m3'])]
  const before = loop(bind(runsIn('m3')), claims).binding
  const evicted = write(before, { ...runsIn(), gracefulEvictionTasks: [{ fromCluster: 'm3' }] }, { claims }).binding
  const { gracefulEvictionTasks: _ended, ...spec } = evicted.spec
  const returning = loop({ ...evicted, spec: { ...spec, ...runsIn('m1') } }, claims).binding
  const waiting = loop(before, []).binding
  const afterMs = (binding: ResourceBinding, answers: ClaimAnswer[], more: object = {}) =>
    planBinding(makeInput({ binding, stored: binding, claims: answers, clusters: healthy, now: NOW + 5000, ...more }))
      .requeueAfterMs

  test('the release delay, if its last claim is gone', () => {
    expect([afterMs(waiting, [], { timing }), afterMs(waiting, [])]).toEqual([15_000, 25_000])
  })

  test('the failback window, if it returns to its data', () => {
    expect([afterMs(returning, claims, { timing }), afterMs(returning, claims)]).toEqual([65_000, 295_000])
  })
})

describe('a patch', () => {
  test('is for the resourceVersion that was read, of the binding only', () => {
    const binding = makeBinding({}, { resourceVersion: '7' })
    const [action] = planBinding(makeInput({ binding, claims: [located(['member1'])] })).actions
    expect(action).toMatchObject({
      kind: 'patch',
      of: { type: { kind: 'ResourceBinding' }, namespace: 'default', name: 'app-deployment' },
      patch: {
        metadata: { resourceVersion: '7', annotations: { [LOCALITY_ANNOTATION]: expect.any(String) } },
        spec: { placement: { clusterAffinity: { clusterNames: ['member1'] } } },
      },
    })
  })

  test('of a binding without a namespace is for a ClusterResourceBinding', () => {
    const { namespace: _namespace, ...metadata } = makeBinding().metadata
    const binding = { ...makeBinding(), metadata }
    const [action] = planBinding(makeInput({ binding, claims: [located(['member1'])] })).actions
    expect(action).toMatchObject({ of: { type: { kind: 'ClusterResourceBinding' }, name: 'app-deployment' } })
  })

  test('is absent if nothing changes', () => {
    const binding = decided([located(['member1'])])
    expect(planBinding(makeInput({ binding, claims: [located(['member1'])] }))).toStrictEqual({
      actions: [],
      moves: false,
    })
  })

  test('is absent for a hold that continues, which is reconciled again', () => {
    const claims = [unknown({ holdTimeoutSeconds: 60 })]
    const plan = planBinding(makeInput({ binding: decided(claims), claims, now: NOW + 20_000 }))
    expect(plan).toStrictEqual({ actions: [], moves: false, requeueAfterMs: 40_000 })
  })

  test('for a release is repeated until admission has stored it', () => {
    const claims = [unknown({ holdTimeoutSeconds: 60 })]
    const plan = planBinding(makeInput({ binding: decided(claims), claims, now: NOW + 60_000 }))
    expect(plan).toMatchObject({ actions: [{ kind: 'patch' }], requeueAfterMs: 5000 })
  })

  test('of an unscheduled workload, or narrowed to its present clusters, moves none', () => {
    const clusterAffinities = [
      { affinityName: 'a', clusterNames: ['member1', 'member2'] },
      { affinityName: 'b', clusterNames: ['member3'] },
    ]
    const plan = (clusters: string[]) =>
      planBinding(
        makeInput({
          binding: makeBinding({ placement: { clusterAffinities }, clusters: clusters.map((name) => ({ name })) }),
          claims: [located(['member1', 'member3'])],
        }),
      ).moves
    expect([plan([]), plan(['member1', 'member3']), plan(['member1', 'member2'])]).toEqual([false, false, true])
  })
})

function decided(claims: ClaimAnswer[], binding = makeBinding()): ResourceBinding {
  return decideBinding(makeInput({ binding, stored: binding, claims })).binding
}

describe('the Events if', () => {
  const plain = makeBinding()
  const narrowed = decided([located(['member1'])])
  const held = decided([unknown({ holdTimeoutSeconds: 60 })])
  const holdOf = (binding: ResourceBinding) => JSON.parse(binding.metadata.annotations?.[HOLD_ANNOTATION] ?? '{}')
  const messageOf = (binding: ResourceBinding) =>
    JSON.parse(binding.metadata.annotations?.[LOCALITY_ANNOTATION] ?? '{}').message
  const annotated = (key: string, value: object) => makeBinding({}, { annotations: { [key]: JSON.stringify(value) } })
  const released = annotated(HOLD_ANNOTATION, { ...holdOf(held), released: true })
  const relaxed = annotated(LOCALITY_ANNOTATION, { state: 'Relaxed', claims: [], message: 'the policy changed' })

  test.each<{ name: string; before?: ResourceBinding; after: ResourceBinding; want: string[][] }>([
    { name: 'nothing changes', before: plain, after: plain, want: [] },
    { name: 'nothing changes for a narrowed workload', before: narrowed, after: narrowed, want: [] },
    { name: 'nothing changes for a workload on hold', before: held, after: held, want: [] },
    {
      name: 'a workload is put on hold when it is created',
      after: held,
      want: [['Warning', 'LocalityHold', holdOf(held).message]],
    },
    {
      name: 'a workload is put on hold later',
      before: plain,
      after: held,
      want: [['Warning', 'LocalityHold', holdOf(held).message]],
    },
    {
      name: 'a hold is released',
      before: held,
      after: released,
      want: [
        ['Warning', 'LocalityHoldReleased', `hold timed out; scheduled without its data: ${holdOf(held).message}`],
      ],
    },
    {
      name: 'a released hold has no earlier state',
      before: plain,
      after: released,
      want: [
        ['Warning', 'LocalityHoldReleased', `hold timed out; scheduled without its data: ${holdOf(held).message}`],
      ],
    },
    { name: 'a release continues', before: released, after: released, want: [] },
    {
      name: 'a hold ends with its data',
      before: held,
      after: narrowed,
      want: [
        ['Normal', 'LocalityHoldEnded', messageOf(narrowed)],
        ['Normal', 'LocalityNarrowed', messageOf(narrowed)],
      ],
    },
    {
      name: 'a hold ends without data',
      before: held,
      after: plain,
      want: [['Normal', 'LocalityHoldEnded', 'the cause of the hold is gone']],
    },
    {
      name: 'a workload is narrowed',
      before: plain,
      after: narrowed,
      want: [['Normal', 'LocalityNarrowed', messageOf(narrowed)]],
    },
    {
      name: 'a workload is narrowed to other clusters',
      before: narrowed,
      after: decided([located(['member2'])]),
      want: [['Normal', 'LocalityNarrowed', 'default/sales is in member2']],
    },
    {
      name: 'a hold has another reason',
      before: held,
      after: annotated(HOLD_ANNOTATION, { ...holdOf(held), reason: 'Unsatisfiable', message: 'nowhere' }),
      want: [['Warning', 'LocalityHold', 'nowhere']],
    },
    {
      name: 'only the message of a hold changes',
      before: held,
      after: annotated(HOLD_ANNOTATION, { ...holdOf(held), message: 'asked again' }),
      want: [],
    },
    {
      name: 'a narrowing is relaxed',
      before: narrowed,
      after: relaxed,
      want: [['Warning', 'LocalityRelaxed', 'the policy changed']],
    },
    {
      name: 'no claim is left',
      before: narrowed,
      after: plain,
      want: [['Normal', 'LocalityRestored', 'no claim narrows this workload; the clusters of its policy apply']],
    },
  ])('$name', ({ before, after, want }) => {
    const decisionId = bindingDecisionId(after)
    expect(bindingEvents(before, after)).toEqual(
      want.map(([type, reason, message]) => ({ kind: 'event', about: after, type, reason, message, decisionId })),
    )
  })
})

test('a binding that loses its last known annotation keeps those outside of the cache', () => {
  const made = makeBinding()
  const { annotations: _policy, ...metadata } = made.metadata
  const unowned = { ...made, metadata }
  const narrowed = decideBinding(makeInput({ binding: unowned, stored: unowned })).binding
  const { actions } = planBinding(makeInput({ binding: narrowed, stored: narrowed, claims: [] }))
  const [action] = actions
  expect(action?.kind === 'patch' && action.patch['metadata']).toEqual({
    resourceVersion: undefined,
    annotations: { [BASE_AFFINITY_ANNOTATION]: null, [LOCALITY_ANNOTATION]: null },
  })
})
