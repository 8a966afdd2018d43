import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { bind, healthy, loop, one, runsIn, three, write } from '../../../../test/binding-writes.ts'
import { located, lookup, makeCluster, makeInput, NOW, nowhere, unknown } from '../../../../test/builders.ts'
import {
  APPLIED_PLACEMENT_ANNOTATION,
  type BindingSpec,
  type Cluster,
  type Placement,
  POLICY_NAME_ANNOTATION,
  POLICY_NAMESPACE_ANNOTATION,
  type ResourceBinding,
} from '../../../api/karmada.ts'
import type { ClaimAnswer } from '../../data-source/locate.ts'
import { newestRules, rulesOfVersion } from '../../karmada-rules.ts'
import { schedulingRefusal } from '../../placement/acceptance.ts'
import { findMisfit } from '../../placement/fit.ts'
import { openTransferMatrix } from '../../transfer-cost/matrix.ts'
import { readAnnotations } from '../annotations.ts'
import { decideBinding } from '../decide.ts'
import type { BindingInput } from '../input.ts'
import { newClusterErrors } from '../new-clusters.ts'
import { planBinding } from '../plan.ts'
import { DEFAULT_TIMING } from '../timing.ts'

const WINDOW = DEFAULT_TIMING.failbackWindowMs
const tainted = (name: string, effect = 'NoSchedule'): Cluster =>
  makeCluster(name, { taints: [{ key: 'maintenance', effect }] })
const without = (name: string): Cluster => ({ ...makeCluster(name), status: { apiEnablements: [] } })
const job = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'app' }

const DELAY = DEFAULT_TIMING.releaseDelayMs

/**
 * Karmada's scheduler ignores a change of such a binding, and schedules it when a Cluster changes (v1.18.1, pkg/scheduler/event_handler.go,
 * enqueueAffectedBindings). If the placement named only a cluster that was refused by then, it would remove the workload from all clusters.
 */
describe('a running workload that no policy selects any more', () => {
  const withoutPolicy = ({ metadata, ...rest }: ResourceBinding): ResourceBinding => {
    const {
      [POLICY_NAME_ANNOTATION]: _name,
      [POLICY_NAMESPACE_ANNOTATION]: _namespace,
      ...annotations
    } = {
      ...metadata.annotations,
    }
    return { ...rest, metadata: { ...metadata, annotations } }
  }
  const why = 'default/sales is in m3; no policy selects the workload any more, so it does not move'
  const narrowed = withoutPolicy(loop(bind(runsIn('m1')), [located(['m1'])]).binding)

  test.each<{ name: string; binding: ResourceBinding; want: object }>([
    { name: 'keeps its narrowing when its data moves', binding: narrowed, want: { state: 'Kept', names: ['m1'] } },
    {
      name: 'keeps the placement of its policy when it gets its first claim',
      binding: withoutPolicy(bind(runsIn('m1'))),
      want: { state: 'Kept', names: ['m1', 'm2', 'm3'] },
    },
    {
      name: 'gets the placement of its policy if the scheduler has not moved it to its data yet',
      binding: withoutPolicy(loop(loop(bind(runsIn('m1')), [located(['m1'])]).binding, [located(['m3'])]).binding),
      want: { state: 'Relaxed', names: ['m1', 'm2', 'm3'] },
    },
  ])('$name', ({ binding, want }) => {
    const decided = loop(binding, [located(['m3'])])
    expect(decided).toMatchObject({ ...want, message: why })
    expect(planBinding(makeInput({ binding, claims: [located(['m3'])], clusters: healthy })).moves).toBe(false)
    expect(write(binding, {}, { claims: [located(['m3'])] }).binding.spec.placement).toEqual(
      decided.binding.spec.placement,
    )
    expect(loop(decided.binding, [located(['m3'])]).binding).toBe(decided.binding)
  })

  test('gets it in the write that takes the policy from its binding', () => {
    const { binding } = loop(loop(bind(runsIn('m1')), [located(['m1'])]).binding, [located(['m3'])])
    const labels = { 'propagationpolicy.karmada.io/permanent-id': 'deleted' }
    const stored = { ...binding, metadata: { ...binding.metadata, labels } }
    const decided = write(stored, {}, { binding: withoutPolicy(binding), claims: [located(['m3'])] })
    expect(decided).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: three } } })
  })

  test('keeps its groups when preferred data moves', () => {
    const placement = { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } }
    const prefers = (name: string) => [located([name], { enforcement: 'Preferred' })]
    const stored = withoutPolicy(loop(bind({ ...runsIn('m1'), placement }), prefers('m1')).binding)
    expect(loop(stored, prefers('m3'))).toMatchObject({ state: 'Kept', message: why })
    expect(loop(stored, prefers('m3')).binding.spec.placement).toEqual(stored.spec.placement)
  })

  test('follows its data when a policy selects it again', () => {
    const kept = loop(narrowed, [located(['m3'])]).binding
    const { annotations } = bind({}).metadata
    const selected = {
      ...kept,
      metadata: { ...kept.metadata, annotations: { ...kept.metadata.annotations, ...annotations } },
    }
    expect(loop(selected, [located(['m3'])])).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('is relaxed when it is evicted, and narrowed when it runs nowhere', () => {
    const { clusters: _clusters, ...spec } = narrowed.spec
    const evicted = { ...narrowed, spec: { ...spec, gracefulEvictionTasks: [{ fromCluster: 'm1' }] } }
    expect(loop(evicted, [located(['m1'])])).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(withoutPolicy(bind({})), [located(['m3'])])).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })
})

/** Karmada before 1.18 ignores overflow tiers, and would move the workload anyway. */
describe('a workload that runs in an overflow tier, and gets a claim for data elsewhere', () => {
  const spill = { affinityName: 'spill', clusterNames: ['m1', 'm3'] }
  const placement = {
    clusterAffinities: [{ affinityName: 'first', clusterNames: ['m2'], overflowAffinities: [spill] }],
  }

  test.each([
    { name: 'stays until the loop moves it', rules: newestRules, want: 'Ignored' },
    { name: 'stays also if the rules of Karmada are not known', rules: undefined, want: 'Ignored' },
    { name: 'goes there at once with Karmada 1.17', rules: rulesOfVersion('1.17'), want: 'Narrowed' },
  ])('$name', ({ rules, want }) => {
    const binding = bind({ ...runsIn('m1'), replicas: 1, placement })
    expect(write(binding, {}, { claims: [located(['m2'])], rules }).state).toBe(want)
  })
})

describe.each([
  {
    name: 'whose PersistentVolumeClaim follows it',
    storage: { volumeClaims: ['disk'] },
    loss: 'Karmada would delete PersistentVolumeClaim disk in the cluster that it leaves',
  },
  {
    name: 'that has templates of PersistentVolumeClaims',
    storage: { claimTemplates: ['disk'] },
    loss: 'its PersistentVolumeClaims of the template disk would not follow it',
  },
  {
    name: 'that is not cached and may have templates of PersistentVolumeClaims',
    storage: { isWorkloadUnread: true },
    loss: 'Lodestone has not read this Deployment, which may have templates of PersistentVolumeClaims',
  },
])('a workload $name', ({ storage, loss }) => {
  const why = `the data moved; rebalance of default/sales is Auto, which does not move the workload, since ${loss}; use Always to move it`
  const { binding } = loop(bind(runsIn('m1')), [located(['m1'])])
  const withDisk = (stored: ResourceBinding, claims: ClaimAnswer[]) =>
    decideBinding(makeInput({ binding: stored, stored, claims, clusters: healthy, ...storage }))

  test('stays when its data moves', () => {
    const decided = withDisk(binding, [located(['m3'])])
    expect(decided).toMatchObject({ state: 'Kept', message: why })
    expect(decided.binding.spec.placement).toEqual(binding.spec.placement)
    expect(withDisk(decided.binding, [located(['m3'])]).binding).toBe(decided.binding)
  })

  test('moves with rebalance Always', () => {
    const decided = withDisk(binding, [located(['m3'], { rebalance: 'Always' })])
    expect(decided).toMatchObject({ state: 'Narrowed', binding: { spec: { placement: one('m3') } } })
  })

  test('may run in a further cluster that gets its data', () => {
    const decided = withDisk(binding, [located(['m1', 'm3'])])
    expect(decided).toMatchObject({ state: 'Narrowed', binding: { spec: { placement: one('m1', 'm3') } } })
  })

  test('stays where it runs after a failover', () => {
    const evicted = bind({ ...runsIn('m2'), gracefulEvictionTasks: [{ fromCluster: 'm1' }] })
    const stored = { ...evicted, metadata: binding.metadata }
    const relaxed = loop(stored, [located(['m1'])])
    expect(relaxed.state).toBe('Relaxed')
    const { gracefulEvictionTasks: _, ...spec } = relaxed.binding.spec
    const home = { ...relaxed.binding, spec }
    const decided = decideBinding(
      makeInput({
        binding: home,
        stored: home,
        claims: [located(['m1'])],
        clusters: healthy,
        ...storage,
        now: NOW + 2 * WINDOW,
      }),
    )
    expect(decided).toMatchObject({ state: 'Relaxed' })
    expect(decided.message).toContain(loss)
  })
})

/**
 * Karmada deletes the workload in the cluster that it leaves. Its Work in the new cluster is not executed (v1.18.2,
 * pkg/controllers/execution/execution_controller.go, Reconcile).
 */
describe('a running workload whose dispatching is suspended', () => {
  type Suspension = NonNullable<BindingSpec['suspension']>
  const narrowed = loop(bind(runsIn('m1')), [located(['m1'])]).binding
  const always = [located(['m3'], { rebalance: 'Always' })]
  const suspend = (binding: ResourceBinding, suspension: Suspension): ResourceBinding => ({
    ...binding,
    spec: { ...binding.spec, suspension },
  })
  const rest = 'so Karmada would delete it and not create it there; it moves when dispatching is resumed'

  test.each<{ name: string; suspension: Suspension; binding?: ResourceBinding; want: object }>([
    {
      name: 'keeps its narrowing',
      suspension: { dispatching: true },
      want: {
        state: 'Kept',
        names: ['m1'],
        message: `default/sales is in m3; its policy suspends dispatching, ${rest}`,
      },
    },
    {
      name: 'keeps the placement of its policy when it gets its first claim',
      suspension: { dispatching: true },
      binding: bind(runsIn('m1')),
      want: { state: 'Kept', names: ['m1', 'm2', 'm3'] },
    },
    {
      name: 'gets the placement of its policy if the scheduler has not moved it to its data yet',
      suspension: { dispatching: true },
      binding: loop(narrowed, always).binding,
      want: { state: 'Relaxed', names: ['m1', 'm2', 'm3'] },
    },
    {
      name: 'stays if it is suspended in a cluster with the data',
      suspension: { dispatchingOnClusters: { clusterNames: ['m2', 'm3'] } },
      want: {
        state: 'Kept',
        names: ['m1'],
        message: `default/sales is in m3; its policy suspends dispatching in m3, ${rest}`,
      },
    },
    {
      name: 'moves if it is suspended only in other clusters',
      suspension: { dispatching: false, dispatchingOnClusters: { clusterNames: ['m1'] } },
      want: { state: 'Narrowed', names: ['m3'] },
    },
  ])('$name', ({ suspension, binding = narrowed, want }) => {
    const stored = suspend(binding, suspension)
    const decided = loop(stored, always)
    expect(decided).toMatchObject(want)
    expect(loop(decided.binding, always).binding).toBe(decided.binding)
  })

  test('follows its data when dispatching is resumed', () => {
    const kept = loop(suspend(narrowed, { dispatching: true }), always).binding
    expect(loop(suspend(kept, { dispatching: false }), always)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test.each([
    { name: 'loses a copy without data if another one is with the data', placement: three, want: 'Narrowed' },
    {
      name: 'keeps replicas without data, which would not be created with it',
      placement: { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } },
      want: 'Kept',
    },
  ])('$name', ({ placement, want }) => {
    const clusters = ['m1', 'm3'].map((name) => ({ name, replicas: 1 }))
    const both = loop(bind({ clusters, placement }), [located(['m1', 'm3'])]).binding
    expect(loop(suspend(both, { dispatching: true }), [located(['m3'])]).state).toBe(want)
  })

  test('keeps its narrowing if the scheduler adds a cluster that is not cached yet', () => {
    const stored = suspend(bind(runsIn('m3')), { dispatching: true })
    const claims = [located(['m1', 'm3'])]
    const { binding } = loop(stored, claims)
    const chosen = { ...binding, spec: { ...binding.spec, ...runsIn('m3', 'm1') } }
    const older = { clusters: lookup('m2', 'm3'), leavesMovesToLoop: true }
    const decided = decideBinding(makeInput({ binding: chosen, stored: binding, claims, ...older }))
    expect([decided.state, decided.binding.spec.placement]).toEqual(['Narrowed', one('m3')])
  })

  test('does not return to its data after a failover', () => {
    const { clusters: _clusters, ...spec } = narrowed.spec
    const evicted = { ...narrowed, spec: { ...spec, gracefulEvictionTasks: [{ fromCluster: 'm1' }] } }
    const relaxed = loop(evicted, [located(['m1'])]).binding
    const { gracefulEvictionTasks: _tasks, ...ended } = relaxed.spec
    const away = suspend({ ...relaxed, spec: { ...ended, ...runsIn('m2') } }, { dispatching: true })
    const waits = loop(away, [located(['m1'])])
    expect(waits.state).toBe('Relaxed')
    expect(loop(waits.binding, [located(['m1'])], { now: NOW + 2 * WINDOW })).toMatchObject({
      state: 'Relaxed',
      names: ['m1', 'm2', 'm3'],
    })
  })

  test('goes to its data if its policy excludes its cluster', () => {
    const placement = one('m2', 'm3')
    const policy = { placement, lazy: false, requiresClaim: false }
    const stored = suspend(narrowed, { dispatching: true })
    const admitted = write(stored, { placement }, { claims: always, policy })
    expect(admitted.binding.spec.placement).toEqual(one('m3'))
  })
})

test('a relaxed workload returns to required data, although a preference is unknown', () => {
  const claims = (answer: ClaimAnswer) => [
    located(['m3']),
    { ...answer, claim: 'default/z', enforcement: 'Preferred' as const },
  ]
  const known = claims(located(['m2', 'm3']))
  const home = loop(bind(runsIn('m3')), known).binding
  const unlocated = claims(unknown())
  expect(loop(home, unlocated).binding.spec.placement, 'at home, it keeps the preference').toEqual(home.spec.placement)
  const lost = { clusters: lookup('m1', 'm2') }
  const relaxed = loop({ ...home, spec: { ...home.spec, ...runsIn('m1') } }, unlocated, lost)
  expect(relaxed).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
  const waits = loop(relaxed.binding, unlocated).binding
  expect(loop(waits, unlocated, { now: NOW + 2 * WINDOW })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
})

describe('a workload whose changed policy excludes its cluster', () => {
  const claims = [located(['m3'])]
  const never = [located(['m3'], { rebalance: 'Never', failback: 'Never' })]
  const changed = { placement: one('m2', 'm3') }
  const policy = { ...changed, lazy: false, requiresClaim: false }
  const kept = loop(loop(bind(runsIn('m1')), [located(['m1'], never[0])]).binding, never)
  const home = loop(bind(runsIn('m3')), claims).binding
  const away = loop({ ...home, spec: { ...home.spec, placement: one('m1'), ...runsIn('m1') } }, claims, {
    policy: { ...policy, placement: one('m1') },
  })

  test.each<{ name: string; stored: ReturnType<typeof loop>; state: string; claims: ClaimAnswer[] }>([
    { name: 'is relaxed', stored: away, state: 'Relaxed', claims },
    { name: 'is relaxed, and does not return after a failover', stored: away, state: 'Relaxed', claims: never },
    { name: 'stays where its data was', stored: kept, state: 'Kept', claims: never },
  ])('goes to its data at once if it $name', ({ stored, state, claims }) => {
    expect([stored.state, stored.binding.spec.clusters?.[0]?.name]).toEqual([state, 'm1'])
    const admitted = write(stored.binding, changed, { claims, policy })
    expect(admitted).toMatchObject({ state: 'Narrowed', binding: { spec: { placement: one('m3') } } })
  })

  test('stays in the clusters that the policy leaves, if it runs in several', () => {
    const stored = { ...away.binding, spec: { ...away.binding.spec, ...runsIn('m1', 'm2') } }
    expect(write(stored, changed, { claims, policy })).toMatchObject({ state: 'Relaxed' })
  })
})

describe('a workload that leaves the clusters of its last narrowing', () => {
  const home = loop(bind(runsIn('m3')), [located(['m3'])]).binding
  const UNJOINED = lookup('m1', 'm2')
  const disallowed = 'the data is in m3, which the policy does not allow'
  const missing =
    'the data is in m3, for which no Cluster exists; join the cluster, or correct the mapping or the DataSource'

  test.each<{ name: string; claims: ClaimAnswer[]; given: Partial<BindingInput>; want: string }>([
    { name: 'the cluster left the hub', claims: [located(['m3'])], given: { clusters: UNJOINED }, want: missing },
    {
      name: 'the cluster left the hub, and the location is unknown',
      claims: [unknown()],
      given: { clusters: UNJOINED },
      want: 'default/sales: no DataSource yet; the clusters of the last narrowing do not exist any more',
    },
    {
      name: 'the policy changed',
      claims: [located(['m3'])],
      given: { policy: { placement: one('m1'), lazy: false, requiresClaim: false } },
      want: disallowed,
    },
    {
      name: 'the policy changed, and the location is unknown',
      claims: [unknown()],
      given: { policy: { placement: one('m1'), lazy: false, requiresClaim: false } },
      want: 'default/sales: no DataSource yet; the policy no longer allows the clusters of the last narrowing',
    },
  ])('is relaxed with one reason, and the right one: $name', ({ claims, given, want }) => {
    expect(loop(home, claims, given)).toMatchObject({ state: 'Relaxed', message: want })
  })
})

describe('a workload whose data moves to a cluster that cannot take it', () => {
  const claims = [located(['m3'])]
  const before = loop(bind(runsIn('m1')), [located(['m1'])]).binding

  test.each<{ name: string; m3: Cluster; why: string }>([
    { name: 'since it is tainted', m3: tainted('m3'), why: 'm3 has the taint maintenance:NoSchedule' },
    { name: 'since it evicts', m3: tainted('m3', 'NoExecute'), why: 'm3 has the taint maintenance:NoExecute' },
    {
      name: 'since it does not serve the kind',
      m3: without('m3'),
      why: 'm3 has not reported yet that it serves apps/v1',
    },
    {
      name: 'since it is being deleted',
      m3: { ...makeCluster('m3'), metadata: { name: 'm3', deletionTimestamp: '2026-01-01T00:00:00Z' } },
      why: 'm3 is being deleted',
    },
  ])('stays where it is $name, and moves when the cluster can take it', ({ m3, why }) => {
    const kept = loop(before, claims, { clusters: lookup('m1', 'm2', m3) })
    expect([kept.state, kept.names]).toEqual(['Kept', ['m1']])
    expect(kept.message).toContain(why)
    expect(loop(kept.binding, claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  describe('that the policy tolerates for some seconds, since Karmada would evict it there', () => {
    const placement = { ...three, clusterTolerations: [{ operator: 'Exists', tolerationSeconds: 60 }] }
    const clusters = lookup('m1', 'm2', tainted('m3', 'NoExecute'))
    const why = 'm3 has the taint maintenance:NoExecute, which the policy tolerates for 60 s only'
    const inM1 = { ...runsIn('m1'), placement }
    const evicted = (binding: ResourceBinding): ResourceBinding => {
      const { clusters: _clusters, ...spec } = binding.spec
      return { ...binding, spec: { ...spec, gracefulEvictionTasks: [{ fromCluster: 'm3' }] } }
    }

    test('stays where it is, and moves when the taint is gone', () => {
      const kept = loop(loop(bind(inM1), [located(['m1'])]).binding, claims, { clusters })
      expect(kept).toMatchObject({ state: 'Kept', names: ['m1'] })
      expect(kept.message).toContain(why)
      expect(loop(kept.binding, claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    })

    test('does not return after it was evicted there, until the taint is gone', () => {
      const home = loop(bind({ ...runsIn('m3'), placement }), claims).binding
      expect(loop(home, claims, { clusters }).binding, 'as long as it is there, it stays').toBe(home)
      const relaxed = loop(evicted(home), claims, { clusters }).binding
      const { gracefulEvictionTasks: _ended, ...spec } = relaxed.spec
      const away = loop({ ...relaxed, spec: { ...spec, ...runsIn('m1') } }, claims, { clusters })
      expect(away).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
      expect(away.message).toContain(why)
      expect(loop(away.binding, claims, { clusters, now: NOW + 2 * WINDOW }).binding).toBe(away.binding)
      const waits = loop(away.binding, claims, { now: NOW + 2 * WINDOW })
      expect(waits).toMatchObject({ state: 'Relaxed' })
      expect(loop(waits.binding, claims, { now: NOW + 3 * WINDOW })).toMatchObject({ state: 'Narrowed' })
    })

    test('begins there, as the scheduler accepts it, if it runs nowhere', () => {
      expect(loop(bind({ placement }), claims, { clusters })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    })

    test.each([
      { name: 'for ever', toleration: { operator: 'Exists' }, effect: 'NoExecute' },
      {
        name: 'and which evicts nothing',
        toleration: { operator: 'Exists', tolerationSeconds: 60 },
        effect: 'NoSchedule',
      },
    ])('moves to a cluster with a taint that the policy tolerates $name', ({ toleration, effect }) => {
      const before = loop(bind({ ...inM1, placement: { ...three, clusterTolerations: [toleration] } }), [
        located(['m1']),
      ])
      const moved = loop(before.binding, claims, { clusters: lookup('m1', 'm2', tainted('m3', effect)) })
      expect(moved).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    })

    describe('and is only preferred', () => {
      const preferred = [located(['m3'], { enforcement: 'Preferred' })]
      const inOne = { ...placement, spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }] }
      const groups = ({ spec }: ResourceBinding) =>
        spec.placement?.clusterAffinities?.map(({ clusterNames }) => clusterNames)

      test('is not moved by its first claim, until the taint is gone', () => {
        const first = loop(bind({ ...runsIn('m1'), placement: inOne }), preferred, { clusters })
        expect(first).toMatchObject({ state: 'Kept', names: ['m1', 'm2', 'm3'] })
        expect(first.message).toContain(why)
        expect(groups(loop(first.binding, preferred).binding)).toEqual([['m3'], ['m1', 'm2', 'm3']])
      })

      test('does not return after it was evicted there, until the taint is gone', () => {
        const home = loop(bind({ placement: inOne }), preferred).binding
        const status = { schedulerObservingAffinityName: 'default', lastScheduledTime: '2026-01-01T00:00:00Z' }
        const away = { ...home, spec: { ...home.spec, ...runsIn('m1') }, status }
        const stays = loop(away, preferred, { clusters }).binding
        expect(loop(stays, preferred, { clusters, now: NOW + 2 * WINDOW }).binding.spec.placement).toEqual(
          away.spec.placement,
        )
        const waits = loop(stays, preferred, { now: NOW + 2 * WINDOW }).binding
        const returns = loop(waits, preferred, { now: NOW + 3 * WINDOW }).binding
        expect(returns.spec.placement?.clusterAffinities?.map(({ affinityName }) => affinityName)).toEqual([
          'default-local.1',
          'default.1',
        ])
      })
    })
  })

  test('stays without an earlier narrowing too: its first claim does not end it', () => {
    const first = loop(bind(runsIn('m1')), claims, { clusters: lookup('m1', 'm2', tainted('m3')) })
    expect(first).toMatchObject({ state: 'Kept', names: ['m1', 'm2', 'm3'] })
    expect(loop(first.binding, claims, { clusters: lookup('m1', 'm2', tainted('m3')) }).binding).toBe(first.binding)
    expect(loop(first.binding, claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    expect(loop(first.binding, [unknown()]).binding.spec.placement).toEqual(three)
  })

  test('goes to the data when it has lost its clusters, also if nothing may move it', () => {
    const stays = [located(['m3'], { rebalance: 'Never' })]
    const kept = loop(before, stays)
    expect(kept).toMatchObject({ state: 'Kept', names: ['m1'] })
    const evicted = write(kept.binding, runsIn(), { claims: stays })
    expect(evicted.binding.spec.placement).toEqual(one('m3'))
    expect(loop(evicted.binding, stays)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('moves if one of several clusters with the data can take it', () => {
    expect(loop(before, [located(['m2', 'm3'])], { clusters: lookup('m1', 'm2', tainted('m3')) })).toMatchObject({
      state: 'Narrowed',
      names: ['m2', 'm3'],
    })
  })

  test('stays in a tainted cluster, which does not end what runs there', () => {
    const at = lookup(tainted('m1'), 'm2', 'm3')
    expect(loop(before, [located(['m1'])], { clusters: at })).toMatchObject({ state: 'Narrowed', names: ['m1'] })
    expect(loop(before, [unknown()], { clusters: at })).toMatchObject({ state: 'Kept', names: ['m1'] })
  })
})

test('a workload that is not scheduled waits, and its reason has cluster and taint', () => {
  const held = loop(bind({}), [located(['m3'])], { clusters: lookup('m1', tainted('m3')) })
  expect(held.state).toBe('OnHold')
  expect(held.message).toBe(
    'default/sales (m3): m3 has the taint maintenance:NoSchedule, which the policy does not tolerate',
  )
  expect(loop(held.binding, [located(['m3'])])).toMatchObject({ state: 'Narrowed', names: ['m3'] })
})

describe('after a failover', () => {
  const claims = [located(['m3'])]
  const broken = lookup('m1', 'm2', tainted('m3', 'NoExecute'))
  const task = { gracefulEvictionTasks: [{ fromCluster: 'm3' }] }
  const before = loop(bind(runsIn('m3')), claims).binding

  function failOver(more: Partial<BindingInput> = {}) {
    const evicting = write(before, { ...runsIn(), ...task }, { claims, clusters: broken, ...more })
    const replaced = write(evicting.binding, runsIn('m1'), { claims, clusters: broken, ...more })
    const { gracefulEvictionTasks: _ended, ...spec } = replaced.binding.spec
    return { evicting, ended: { ...replaced.binding, spec } }
  }

  test('the replacement stays while the data cluster is broken, also after the eviction', () => {
    const { evicting, ended } = failOver()
    expect(evicting).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: three } } })
    const later = loop(ended, claims, { clusters: broken, now: NOW + 10 * WINDOW })
    expect(later).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(later.message).toContain('m3 has the taint maintenance:NoExecute')
  })

  test('the replacement stays if the cluster was purged without an eviction task', () => {
    const purged = write(before, runsIn(), { claims, clusters: broken })
    expect(purged).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: three } } })
  })

  test('the workload returns when its data was available for the window', () => {
    const { ended } = failOver()
    const waiting = loop(ended, claims, { now: NOW })
    expect(waiting).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(waiting.binding, claims, { now: NOW + WINDOW - 1 }).binding).toBe(waiting.binding)
    const returned = loop(waiting.binding, claims, { now: NOW + WINDOW })
    expect(returned).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    const admitted = write(waiting.binding, returned.binding.spec, {
      binding: returned.binding,
      claims,
      now: NOW + WINDOW,
    })
    expect(admitted.binding).toBe(returned.binding)
  })

  test('another writer does not return it, even after the window', () => {
    const waiting = loop(failOver().ended, claims).binding
    expect(write(waiting, {}, { claims, now: NOW + 2 * WINDOW }).state).toBe('Relaxed')
    expect(write(waiting, { placement: three }, { claims, now: NOW + 2 * WINDOW }).state).toBe('Relaxed')
  })

  test('it does not return by a jump of the clock', () => {
    const waiting = loop(failOver().ended, claims).binding
    const byMs = 365 * 86_400_000
    const jumps = [{ to: NOW + byMs, byMs }]
    expect(loop(waiting, claims, { jumps, now: NOW + byMs + WINDOW - 1 }).state).toBe('Relaxed')
    expect(loop(waiting, claims, { jumps, now: NOW + byMs + WINDOW }).state).toBe('Narrowed')
  })

  test('admission and a loop with another window write the same words', () => {
    const timing = { failbackWindowMs: 1000, releaseDelayMs: 5000 }
    const waiting = loop(failOver().ended, claims, { timing }).binding
    expect(write(waiting, {}, { claims }).binding).toEqual(waiting)
  })

  test('the window begins again when the cluster breaks again', () => {
    const waiting = loop(failOver().ended, claims).binding
    const again = loop(waiting, claims, { clusters: broken, now: NOW + WINDOW - 1 }).binding
    const back = loop(again, claims, { now: NOW + WINDOW }).binding
    expect(loop(back, claims, { now: NOW + 2 * WINDOW - 1 }).state).toBe('Relaxed')
    expect(loop(back, claims, { now: NOW + 2 * WINDOW }).state).toBe('Narrowed')
  })

  test.each<{ name: string; claim: Partial<ClaimAnswer>; resource?: BindingSpec['resource'] }>([
    { name: 'if failback is Never', claim: { failback: 'Never' } },
    { name: 'if rebalance is Never', claim: { rebalance: 'Never' } },
    { name: 'if it runs to completion', claim: {}, resource: job },
  ])('the workload stays where it is $name', ({ claim, resource }) => {
    const { ended } = failOver({ claims: [located(['m3'], claim)] })
    const binding = resource ? { ...ended, spec: { ...ended.spec, resource } } : ended
    const after = loop(binding, [located(['m3'], claim)], { now: NOW + 10 * WINDOW })
    expect([after.state, loop(after.binding, [located(['m3'], claim)], { now: NOW + 20 * WINDOW }).state]).toEqual([
      'Relaxed',
      'Relaxed',
    ])
  })

  test('the workload does not go back to a location that is unknown or gone', () => {
    const { ended } = failOver()
    for (const answer of [unknown(), nowhere()]) {
      expect(loop(ended, [answer], { now: NOW + 10 * WINDOW })).toMatchObject({
        state: 'Relaxed',
        names: ['m1', 'm2', 'm3'],
      })
    }
  })
})

describe('a workload that the scheduler removed everywhere after a cluster was tainted', () => {
  const claims = [located(['m3'])]
  const ran = { lastScheduledTime: '2026-01-01T00:00:00Z' }
  const moved = loop(loop(bind(runsIn('m1'), ran), [located(['m1'])]).binding, claims)
  const broken = lookup('m1', 'm2', tainted('m3'))

  test('is relaxed in the write of the scheduler', () => {
    expect(moved).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    const emptied = write(moved.binding, runsIn(), { claims, clusters: broken })
    expect(emptied).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: three } } })
  })

  test('is relaxed by the loop, and never on hold', () => {
    const emptied = { ...moved.binding, spec: { ...moved.binding.spec, clusters: [] } }
    expect(loop(emptied, claims, { clusters: broken })).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(emptied, [unknown()], { clusters: broken })).toMatchObject({ state: 'Relaxed' })
    expect(loop(emptied, claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('begins with the first group again, if the scheduler had chosen a later one', () => {
    const groups = {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['m1', 'm2'] },
        { affinityName: 'b', clusterNames: ['m3'] },
      ],
    }
    const status = { ...ran, schedulerObservingAffinityName: 'b' }
    const inB = loop(bind({ ...runsIn('m3'), placement: groups }, status), claims).binding
    const evicted = { ...inB, spec: { ...inB.spec, clusters: [] } }
    const relaxed = loop(evicted, claims, { clusters: broken })
    expect(relaxed.binding.spec.placement?.clusterAffinities?.map(({ affinityName }) => affinityName)).toEqual([
      'a.1',
      'b.1',
    ])
    expect(loop(relaxed.binding, claims, { clusters: broken }).binding).toBe(relaxed.binding)
  })
})

describe('a workload that the scheduler removed everywhere for an unknown reason', () => {
  const claims = [located(['m3'])]
  const ran = { lastScheduledTime: '2026-01-01T00:00:00Z' }
  const moved = loop(loop(bind(runsIn('m1'), ran), [located(['m1'])]).binding, claims).binding
  /** The binding after the scheduler has found no cluster for a placement. */
  const refused = (binding: ResourceBinding, tried = binding.spec.placement): ResourceBinding => ({
    ...binding,
    metadata: {
      ...binding.metadata,
      annotations: { ...binding.metadata.annotations, [APPLIED_PLACEMENT_ANNOTATION]: JSON.stringify(tried) },
    },
    spec: { ...binding.spec, clusters: [] },
    status: { ...binding.status, conditions: [{ type: 'Scheduled', status: 'False', reason: 'NoClusterFit' }] },
  })
  const relaxed = loop(refused(moved), claims)

  test('gets the placement of its policy', () => {
    expect(relaxed).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(relaxed.message).toMatch(/^the scheduler refuses the clusters with the data/)
    expect(loop(relaxed.binding, claims).binding).toBe(relaxed.binding)
  })

  test('gets it in the next write of Karmada too, if no loop runs', () => {
    expect(write(refused(moved), {}, { claims })).toMatchObject({
      state: 'Relaxed',
      binding: { spec: { placement: three } },
    })
  })

  test('gets it while the location is unknown, and without a known claim', () => {
    expect(loop(refused(moved), [unknown()])).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    const alone = loop(refused(moved), [], { claimsUnknown: 'the CRD is gone' })
    expect(alone).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(alone.binding, [], { claimsUnknown: 'the CRD is gone' }).binding).toBe(alone.binding)
  })

  test.each(['NoClusterFit', 'Unschedulable'])('begins where the scheduler then chooses, after %s', (reason) => {
    const emptied = refused(moved)
    const failed = { ...emptied.status, conditions: [{ type: 'Scheduled', status: 'False' as const, reason }] }
    const stored = loop({ ...emptied, status: failed }, claims).binding
    const input = (clusters: string[]) =>
      makeInput({
        binding: { ...stored, spec: { ...stored.spec, ...runsIn(...clusters) } },
        stored,
        claims,
        clusters: healthy,
        leavesMovesToLoop: true,
      })
    const chosen = decideBinding(input(['m1']))
    expect(chosen).toMatchObject({ state: 'Relaxed', binding: { spec: { placement: three, ...runsIn('m1') } } })
    expect(newClusterErrors(input(['m1']))).toEqual([])
    expect(decideBinding(input(['m3']))).toMatchObject({ state: 'Narrowed' })
    const { conditions: _failed, ...status } = failed
    const runs = { ...chosen.binding, status }
    expect(loop(runs, claims, { now: NOW + WINDOW - 1 })).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(runs, claims, { now: NOW + WINDOW })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('is tried with its data again only after the window, if it runs nowhere', () => {
    const nowhere = refused(relaxed.binding)
    expect(loop(nowhere, claims, { now: NOW + WINDOW - 1 }).binding).toBe(nowhere)
    expect(planBinding(makeInput({ binding: nowhere, claims, clusters: healthy })).requeueAfterMs).toBe(WINDOW)
    const again = loop(nowhere, claims, { now: NOW + WINDOW })
    expect(again).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    expect(loop(refused(again.binding), claims, { now: NOW + WINDOW })).toMatchObject({ state: 'Relaxed' })
  })

  test('returns to its data after the window if it runs elsewhere', () => {
    const elsewhere = { ...relaxed.binding, spec: { ...relaxed.binding.spec, ...runsIn('m1') } }
    const waits = loop(elsewhere, claims)
    expect(waits).toMatchObject({ state: 'Relaxed' })
    expect(loop(waits.binding, claims, { now: NOW + WINDOW })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  /** The workload runs elsewhere, returns after the wait, and is refused again. */
  function returnBriefly({ binding, now }: { binding: ResourceBinding; now: number }) {
    const waits = loop({ ...binding, spec: { ...binding.spec, ...runsIn('m1') } }, claims, { now })
    const plan = planBinding(makeInput({ binding: waits.binding, claims, clusters: healthy, now }))
    const waitMs = plan.requeueAfterMs ?? Number.NaN
    expect(loop(waits.binding, claims, { now: now + waitMs - 1 }).binding).toBe(waits.binding)
    const back = loop(waits.binding, claims, { now: now + waitMs })
    expect(back).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    return { waitMs, message: waits.message, back, now: now + waitMs }
  }

  test('waits twice as long after each return that did not last, and at most a day', () => {
    let binding = relaxed.binding
    let now = NOW
    const waits: number[] = []
    for (let i = 0; i < 10; i++) {
      const attempt = returnBriefly({ binding, now })
      waits.push(attempt.waitMs / WINDOW)
      const returns = i === 0 ? '' : i === 1 ? ' after its last return' : ` after its last ${i} returns`
      expect(attempt.message).toMatch(new RegExp(`did not stay there${returns}$|window is over$`))
      expect(attempt.message.endsWith('window is over')).toBe(i === 0)
      now = attempt.now + 10_000
      binding = loop(refused(attempt.back.binding), claims, { now }).binding
    }
    expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 288])
  })

  test.each([
    { name: 'an hour', stayedMs: 12 * WINDOW, want: WINDOW },
    { name: 'less than an hour', stayedMs: 12 * WINDOW - 1, want: 2 * WINDOW },
  ])('waits $want ms after it was with its data for $name', ({ stayedMs, want }) => {
    const { back, now } = returnBriefly({ binding: relaxed.binding, now: NOW })
    const home = write(back.binding, runsIn('m3'), { claims, now }).binding
    expect(loop(home, claims, { now }).binding).toBe(home)
    const leaves = loop(refused(home), claims, { now: now + stayedMs }).binding
    expect(returnBriefly({ binding: leaves, now: now + stayedMs }).waitMs).toBe(want)
  })

  test('goes to its data at once when that recovers and all other clusters are refused', () => {
    const broken = loop(refused(moved), claims, { clusters: lookup('m1', 'm2', tainted('m3')) })
    expect(broken).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(refused(broken.binding), claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('stays narrowed for another claim until the scheduler has tried that placement', () => {
    const two = [located(['m3']), located(['m2', 'm3'], { claim: 'default/other' })]
    const before = loop(bind(runsIn('m3'), ran), [located(['m3'], { claim: 'default/gone' }), ...two]).binding
    const waits = loop(before, [located(['m2', 'm3'], { claim: 'default/other' })])
    expect(waits).toMatchObject({ state: 'Kept', names: ['m3'] })
    expect(loop(refused(waits.binding, three), [located(['m2', 'm3'], { claim: 'default/other' })]).names).toEqual([
      'm3',
    ])
  })

  test('gets the placement of its policy too if a client removes our annotations', () => {
    const { annotations = {}, ...metadata } = refused(moved).metadata
    const applied = annotations[APPLIED_PLACEMENT_ANNOTATION] ?? ''
    const binding = {
      ...refused(moved),
      metadata: { ...metadata, annotations: { [APPLIED_PLACEMENT_ANNOTATION]: applied } },
    }
    const input = makeInput({ binding, stored: refused(moved), claims, clusters: healthy, leavesMovesToLoop: true })
    expect(decideBinding({ ...input, policy: { placement: three, lazy: false, requiresClaim: false } })).toMatchObject({
      state: 'Relaxed',
    })
    const bare = { ...binding, metadata }
    expect(decideBinding({ ...input, binding: bare })).toMatchObject({ state: 'Narrowed' })
  })

  test('is narrowed by its first claim, if an eviction has emptied it', () => {
    const evicted = refused(bind({ gracefulEvictionTasks: [{ fromCluster: 'm1' }] }, ran))
    expect(loop(evicted, claims)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })

  test('follows its data at once if that moves', () => {
    const after = loop(refused(relaxed.binding), [located(['m2'])])
    expect(after).toMatchObject({ state: 'Narrowed', names: ['m2'] })
  })

  test.each<{ name: string; reason: string; message: string }>([
    {
      name: 'room for its replicas',
      reason: 'Unschedulable',
      message: 'failed to assign replicas: failed to scale up: …',
    },
    {
      name: 'room for its replicas, with Karmada before 1.18',
      reason: 'SchedulerError',
      message: 'failed to assign replicas: failed to scale up: …',
    },
    {
      name: 'room in the clusters that it may select',
      reason: 'SchedulerError',
      message: 'failed to select clusters: no enough resource when selecting 1 clusters',
    },
  ])('gets the placement of its policy if the clusters with the data lack $name', ({ reason, message }) => {
    const condition = { type: 'Scheduled', status: 'False' as const, reason, message }
    const crowded = (binding: ResourceBinding, clusters: BindingSpec['clusters'] = []): ResourceBinding => ({
      ...binding,
      spec: { ...binding.spec, clusters },
      status: { ...binding.status, conditions: [condition] },
    })
    const runs = crowded(moved, moved.spec.clusters)
    expect(loop(runs, claims).binding, 'a workload that runs waits for room').toBe(runs)
    const emptied = loop(crowded(moved), claims)
    expect(emptied).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(emptied.message).toMatch(/^the scheduler cannot choose a cluster with the data/)
    const still = crowded(emptied.binding)
    expect(loop(still, claims).binding).toBe(still)
    expect(loop(still, claims, { now: NOW + WINDOW })).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    const other = [located(['m2'])]
    expect(loop(crowded(moved), other), 'other data').toMatchObject({ state: 'Narrowed', names: ['m2'] })
  })

  test('gets the placement of its policy if karmada-descheduler has taken its replicas', () => {
    const condition = { type: 'Scheduled', status: 'False' as const, reason: 'Unschedulable' }
    const placement = { ...moved.spec.placement, replicaScheduling: { replicaDivisionPreference: 'Aggregated' } }
    const descheduled = (binding: ResourceBinding, replicas: number): ResourceBinding => ({
      ...binding,
      spec: { ...binding.spec, replicas: 2, replicaRequirements: {}, clusters: [{ name: 'm3', replicas }] },
      status: { ...binding.status, conditions: [condition] },
    })
    const divided = { ...moved, spec: { ...moved.spec, placement } }
    const partly = descheduled(divided, 1)
    expect(loop(partly, claims).binding, 'a part of the replicas waits for room').toBe(partly)
    const emptied = loop(descheduled(divided, 0), claims)
    expect(emptied).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    const still = descheduled(emptied.binding, 0)
    expect(loop(still, claims).binding).toBe(still)
    const elsewhere = write(still, { clusters: [{ name: 'm2', replicas: 2 }] }, { claims })
    expect(elsewhere.state).toBe('Relaxed')
    const unclaimed = loop(descheduled(divided, 0), [], { now: NOW + DELAY })
    expect(unclaimed).toMatchObject({ state: 'Relaxed', names: ['m1', 'm2', 'm3'] })
    expect(loop(unclaimed.binding, [], { now: NOW + DELAY }).binding, 'until it runs').toBe(unclaimed.binding)
    const runs = write(unclaimed.binding, { clusters: [{ name: 'm2', replicas: 2 }] }, { claims: [] })
    expect(runs.state).toBe('Restored')
  })

  test('is not given the placement of its policy by another error of the scheduler', () => {
    const condition = { type: 'Scheduled', status: 'False' as const, reason: 'SchedulerError', message: 'timeout' }
    const failed = {
      ...moved,
      spec: { ...moved.spec, clusters: [] },
      status: { ...moved.status, conditions: [condition] },
    }
    expect(loop(failed, claims).names).toEqual(['m3'])
  })

  test.each<{ name: string; binding: ResourceBinding; more?: Partial<BindingInput> }>([
    { name: 'the scheduler has not tried the narrowing yet', binding: refused(moved, three) },
    { name: 'the scheduler has tried nothing yet', binding: { ...refused(moved), metadata: moved.metadata } },
    {
      name: 'the scheduler tried it for other tolerations',
      binding: refused(moved, { ...one('m3'), clusterTolerations: [] }),
    },
    { name: 'no Cluster is known', binding: refused(moved), more: { clusters: undefined } },
    {
      name: 'the policy allows nothing else',
      binding: refused(loop(bind({ ...runsIn('m3'), placement: one('m3') }, ran), claims).binding),
    },
    {
      name: 'it never ran',
      binding: { ...refused(moved), status: { conditions: refused(moved).status?.conditions ?? [] } },
    },
  ])('stays narrowed if $name', ({ binding, more }) => {
    expect(loop(binding, claims, more)).toMatchObject({ state: 'Narrowed', names: ['m3'] })
  })
})

describe('a workload that waits elsewhere for room with its data', () => {
  const inM3 = [located(['m3'])]
  const placement = { ...three, replicaScheduling: { replicaDivisionPreference: 'Aggregated' as const } }
  const replicasIn = (name: string, replicas: number) => ({ clusters: [{ name, replicas }] })
  const started = bind(
    { placement, replicas: 2, ...replicasIn('m1', 2) },
    { lastScheduledTime: '2026-01-01T00:00:00Z' },
  )
  const crowded = (binding: ResourceBinding, isCrowded = true): ResourceBinding => ({
    ...binding,
    status: {
      ...binding.status,
      conditions: isCrowded ? [{ type: 'Scheduled', status: 'False', reason: 'Unschedulable' }] : [],
    },
  })
  const waiting = crowded(loop(loop(started, [located(['m1'])]).binding, inM3).binding)

  test('keeps waiting while it is not scaled', () => {
    expect(waiting.spec.placement?.clusterAffinity).toEqual({ clusterNames: ['m3'] })
    expect(loop(waiting, inM3).binding).toBe(waiting)
  })

  test.each([
    { how: 'up by Karmada', change: { replicas: 4, placement } },
    { how: 'up', change: { replicas: 4 } },
    { how: 'down', change: { replicas: 1 } },
  ])('is scaled $how where it runs', ({ change }) => {
    const { state, message, binding } = write(waiting, change, { claims: inM3 })
    expect({ state, placement: binding.spec.placement }).toEqual({ state: 'Relaxed', placement })
    expect(message).toContain('it returns there when the failback window is over')
    const stored = crowded(binding)
    expect(loop(stored, inM3).binding).toBe(stored)
    expect(write(stored, {}, { claims: inM3 }).binding).toEqual(stored)
  })

  test('is scaled where it runs, if this is its first claim', () => {
    const first = crowded(loop(started, inM3).binding)
    expect(write(first, { replicas: 4 }, { claims: inM3 }).state).toBe('Relaxed')
  })

  test('waits while the location is unknown', () => {
    const { state, binding } = write(waiting, { replicas: 4 }, { claims: [unknown()] })
    expect({ state, placement: binding.spec.placement }).toMatchObject({ state: 'Kept', placement: one('m3') })
  })

  test('goes to its data after the failback window, and each attempt doubles the wait', () => {
    const scaled = crowded(write(waiting, { replicas: 4 }, { claims: inM3 }).binding)
    const runs = crowded({ ...scaled, spec: { ...scaled.spec, ...replicasIn('m1', 4) } }, false)
    expect(loop(runs, inM3)).toMatchObject({ state: 'Relaxed' })
    const back = loop(runs, inM3, { now: NOW + WINDOW })
    expect(back).toMatchObject({ state: 'Narrowed', names: ['m3'] })
    const again = write(crowded(back.binding), { replicas: 5 }, { claims: inM3, now: NOW + WINDOW })
    expect(again.state).toBe('Relaxed')
    expect(again.message).toContain('it is longer now, because the workload did not stay there after its last return')
  })

  test('waits with its data if that has too little room for more replicas', () => {
    const there = { ...waiting, spec: { ...waiting.spec, ...replicasIn('m3', 2) } }
    expect(write(there, { replicas: 4 }, { claims: inM3 })).toMatchObject({ state: 'Narrowed' })
  })
})

test('admission does not defer a move of the policy when the loop has sent it', () => {
  const policy = { placement: one('m2'), lazy: false, requiresClaim: false }
  const claims = [located(['m2', 'm3'])]
  const stored = loop(bind(runsIn('m1', 'm2')), [located(['m1', 'm2'])]).binding
  const planned = loop(stored, claims, { policy })
  expect(planned).toMatchObject({ state: 'Narrowed', names: ['m2'] })
  const sent = makeInput({
    binding: planned.binding,
    stored,
    claims,
    policy,
    clusters: healthy,
    leavesMovesToLoop: true,
  })
  expect(decideBinding(sent).binding).toBe(planned.binding)
})

describe('a preference', () => {
  const prefers = (...names: string[]) => [located(names, { enforcement: 'Preferred' })]
  const divided: Placement = { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const groupsOf = ({ spec }: ResourceBinding) =>
    spec.placement?.clusterAffinities?.map(({ affinityName }) => affinityName)
  const inGroup = (binding: ResourceBinding, name: string, ...names: string[]): ResourceBinding => ({
    ...binding,
    spec: { ...binding.spec, ...runsIn(...names) },
    status: { schedulerObservingAffinityName: name },
  })
  const narrowed = loop(bind({ placement: divided }), prefers('m2')).binding
  const fallenBack = inGroup(narrowed, 'default', 'm1')

  test('removes no copy, and says why', () => {
    const kept = loop(bind(runsIn('m1', 'm2', 'm3')), prefers('m2'))
    expect(kept).toMatchObject({ state: 'Kept', names: ['m1', 'm2', 'm3'] })
    expect(kept.message).toBe(
      'default/sales is in m2; the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy',
    )
    expect(loop(kept.binding, prefers('m2')).binding).toBe(kept.binding)
  })

  test('moves no replicas that are divided over several clusters', () => {
    expect(loop(bind({ ...runsIn('m1', 'm2'), placement: divided }), prefers('m2'))).toMatchObject({
      state: 'Kept',
      names: ['m1', 'm2', 'm3'],
    })
  })

  test.each(['Aggregated', 'Weighted'])(
    'holds for a workload scaled to zero, copied to all clusters, and scaled up: %s',
    (replicaDivisionPreference) => {
      const placement = { ...three, replicaScheduling: { ...divided.replicaScheduling, replicaDivisionPreference } }
      const claims = prefers('m2')
      const runs = { ...loop(bind({ placement }), claims).binding }
      const inM2 = { ...runs, spec: { ...runs.spec, ...runsIn('m2') } }
      const empty = write(inM2, { placement, replicas: 0 }, { claims }).binding
      expect(groupsOf(empty)).toBeUndefined()
      const copied = { ...empty, spec: { ...empty.spec, clusters: [{ name: 'm1' }, { name: 'm2' }, { name: 'm3' }] } }
      const scaled = write(copied, { placement, replicas: 3 }, { claims })
      expect(scaled).toMatchObject({ state: 'Narrowed' })
      expect(groupsOf(scaled.binding)).toEqual(['default-local', 'default'])
      expect(loop(scaled.binding, claims).binding).toBe(scaled.binding)
      const scheduled = write(scaled.binding, runsIn('m2'), { claims })
      expect(scheduled).toMatchObject({ state: 'Narrowed' })
    },
  )

  test.each<{ name: string; claims: ClaimAnswer[] }>([
    { name: 'alone', claims: prefers('m2') },
    { name: 'beside required data', claims: [located(['m1', 'm2'], { claim: 'default/a' }), ...prefers('m2')] },
  ])('$name moves a running workload by the loop alone, and within the budget', ({ claims }) => {
    const running = bind({ ...runsIn('m1'), placement: divided })
    const admitted = write(running, {}, { claims })
    expect(admitted).toMatchObject({ state: 'Ignored', binding: { spec: { placement: divided } } })
    const moved = planBinding(makeInput({ binding: running, stored: running, claims, clusters: healthy }))
    expect(moved.moves).toBe(true)
    const sent = loop(running, claims).binding
    expect(groupsOf(sent)).toEqual(['default-local', 'default'])
    expect(write(running, {}, { binding: sent, claims }).binding).toBe(sent)
  })

  test('moves nothing at admission either when it has an effect for the first time', () => {
    const kept = loop(bind({ ...runsIn('m1', 'm3'), placement: divided }), prefers('m2')).binding
    const shrunk = write(kept, runsIn('m1'), { claims: prefers('m2') })
    expect(shrunk).toMatchObject({ state: 'Ignored', binding: { spec: { placement: divided } } })
    expect(write(shrunk.binding, {}, { claims: prefers('m2') }).binding).toEqual(shrunk.binding)
    expect(groupsOf(loop(shrunk.binding, prefers('m2')).binding)).toEqual(['default-local', 'default'])
  })

  test('moves nothing at admission when the policy no longer has groups that disabled it', () => {
    const clusterAffinities = [
      { affinityName: 'a', clusterNames: ['m3'] },
      { affinityName: 'b', clusterNames: ['m1'] },
    ]
    const claims = prefers('m1', 'm2')
    const stored = loop(inGroup(bind({ placement: { clusterAffinities } }), 'a', 'm3'), claims)
    expect(stored).toMatchObject({ state: 'Kept', message: expect.stringContaining('(Duplicated)') })
    const placement = { ...one('m2', 'm3'), replicaScheduling: { replicaSchedulingType: 'Divided' } }

    const admitted = write(stored.binding, { placement }, { claims })

    expect(admitted).toMatchObject({ state: 'Ignored', binding: { spec: { placement } } })
    const { binding } = admitted
    expect(planBinding(makeInput({ binding, stored: binding, claims, clusters: healthy })).moves).toBe(true)
    expect(groupsOf(loop(binding, claims).binding)).toEqual(['default-local', 'default'])
  })

  test('moves nothing at admission after the scheduler chose a group before it', () => {
    const clusterAffinities = [
      { affinityName: 'a', clusterNames: ['m1'] },
      { affinityName: 'b', clusterNames: ['m2', 'm3'] },
    ]
    const claims = prefers('m3')
    const inGroups = { clusterAffinities, replicaScheduling: { replicaSchedulingType: 'Divided' } }
    const stored = loop(inGroup(bind({ placement: inGroups }), 'a', 'm1'), claims)
    expect([stored.state, groupsOf(stored.binding)]).toEqual(['Narrowed', ['a', 'b-local', 'b']])

    const admitted = write(stored.binding, { placement: divided }, { claims })

    expect(admitted).toMatchObject({ state: 'Ignored', binding: { spec: { placement: divided } } })
    const { binding } = admitted
    expect(planBinding(makeInput({ binding, stored: binding, claims, clusters: healthy })).moves).toBe(true)
    expect(groupsOf(loop(binding, claims).binding)).toEqual(['default-local', 'default'])
  })

  test.each<{ name: string; before: ClaimAnswer[]; now: ClaimAnswer[] }>([
    { name: 'alone', before: prefers('m2'), now: prefers('m3') },
    {
      name: 'beside required data',
      before: [located(['m2', 'm3'], { claim: 'default/a' }), ...prefers('m2')],
      now: [located(['m2', 'm3'], { claim: 'default/a' }), ...prefers('m3')],
    },
  ])('$name moves by the loop alone too when its data moves', (given) => {
    const stored = inGroup(loop(bind({ placement: divided }), given.before).binding, 'default-local', 'm2')
    const admitted = write(stored, {}, { claims: given.now })
    expect(admitted).toMatchObject({ state: 'Kept', binding: { spec: { placement: stored.spec.placement } } })
    const plan = planBinding(makeInput({ binding: stored, stored, claims: given.now, clusters: healthy }))
    expect(plan.moves).toBe(true)
    const sent = loop(stored, given.now)
    expect([sent.state, sent.binding.spec.placement?.clusterAffinities?.[0]?.clusterNames]).toEqual([
      'Narrowed',
      ['m3'],
    ])
    expect(write(stored, {}, { binding: sent.binding, claims: given.now }).binding).toBe(sent.binding)
    // A workload that runs in a later group stays there: the scheduler does not look at the first one again.
    const later = inGroup(stored, 'default', 'm2')
    expect(planBinding(makeInput({ binding: later, stored: later, claims: given.now })).moves).toBe(false)
  })

  test.each<{ name: string; status: string; group: string[]; moves: boolean }>([
    { name: 'the group in which it runs gets other clusters', status: 'default-local', group: ['m3'], moves: true },
    {
      name: 'the group in which it runs keeps its cluster',
      status: 'default-local',
      group: ['m2', 'm3'],
      moves: false,
    },
    { name: 'it runs in the clusters of the policy', status: 'default', group: ['m3'], moves: false },
  ])('moves by the loop alone, and within the budget: $moves if $name', ({ status, group, moves }) => {
    const running = inGroup(narrowed, status, 'm2')
    const claims = prefers(...group)
    const plan = planBinding(makeInput({ binding: running, stored: running, claims, clusters: healthy }))
    expect(plan.moves).toBe(moves)
    const admitted = write(running, {}, { claims })
    const sent = loop(running, claims).binding
    expect(admitted.state).toBe(moves ? 'Kept' : 'Narrowed')
    expect(admitted.binding.spec.placement).toEqual((moves ? running : sent).spec.placement)
    expect(write(running, {}, { binding: sent, claims }).binding).toBe(sent)
  })

  test('moves within the budget when the group in which it runs is left out', () => {
    const claimsIn = (first: string, second: string) => [
      located([first], { enforcement: 'Preferred', bytes: 2 }),
      located([second], { enforcement: 'Preferred', claim: 'default/z' }),
    ]
    const running = inGroup(loop(bind({ placement: divided }), claimsIn('m1', 'm2')).binding, 'default-local-2', 'm2')
    const claims = claimsIn('m3', 'm3')
    const plan = planBinding(makeInput({ binding: running, stored: running, claims, clusters: healthy }))
    expect(plan.moves).toBe(true)
    expect(write(running, {}, { claims }).state).toBe('Kept')
  })

  /** Preferred data in each cluster, the first one with the most bytes. */
  const claimsIn = (...names: string[]) =>
    names.map((name, i) =>
      located([name], { enforcement: 'Preferred', claim: `default/${i}`, bytes: names.length - i }),
    )

  test('stays where it runs when the data comes there, also if it ran in a later group', () => {
    const claims = claimsIn('m1', 'm2', 'm3')
    const running = inGroup(loop(bind({ placement: divided }), claims).binding, 'default-local-2', 'm2')
    const moved = claimsIn('m2', 'm3', 'm1')
    const plan = planBinding(makeInput({ binding: running, stored: running, claims: moved, clusters: healthy }))
    const sent = loop(running, moved).binding
    const groups = sent.spec.placement?.clusterAffinities ?? []
    expect(groups.map(({ affinityName, clusterNames }) => `${affinityName}: ${clusterNames}`)).toEqual([
      'default-local.1: m2',
      'default-local-2.1: m3',
      'default-local-3.1: m1',
      'default.1: m1,m2,m3',
    ])
    expect(groupsOf(loop(sent, moved).binding)).toEqual(groupsOf(sent))
    expect(groupsOf(loop(inGroup(sent, 'default-local.1', 'm2'), moved).binding)).toEqual(groupsOf(sent))
    expect(plan.moves).toBe(true)
  })

  test('stays with its groups if the data moves again before the scheduler tries them', () => {
    const claims = claimsIn('m1', 'm2', 'm3')
    const running = inGroup(loop(bind({ placement: divided }), claims).binding, 'default-local-2', 'm2')
    const sent = loop(running, claimsIn('m2', 'm3', 'm1')).binding
    const again = claimsIn('m3', 'm2', 'm1')
    const policy = { placement: divided, lazy: false, requiresClaim: false }
    const ofDetector = write(sent, { placement: divided }, { policy, claims: again })
    expect(ofDetector).toMatchObject({ state: 'Kept', binding: { spec: { placement: sent.spec.placement } } })
    expect(write(ofDetector.binding, {}, { policy, claims: again }).binding).toEqual(ofDetector.binding)
  })

  test.each([
    { name: 'the best', clusterNames: ['m2', 'm3'], groups: ['default-local.1', 'default-local-2.1', 'default.1'] },
    { name: 'the second', clusterNames: ['m1', 'm2'], groups: ['default-local', 'default-local-2', 'default'] },
  ])('keeps the workload where it runs if that is $name cluster of the changed policy', ({ clusterNames, groups }) => {
    const claims = claimsIn('m1', 'm2', 'm3')
    const running = inGroup(loop(bind({ placement: divided }), claims).binding, 'default-local-2', 'm2')
    const sent = write(running, { placement: { ...divided, clusterAffinity: { clusterNames } } }, { claims }).binding
    expect(groupsOf(sent)).toEqual(groups)
    expect(write(sent, {}, { claims }).binding).toEqual(sent)
    expect(groupsOf(loop(sent, claims).binding)).toEqual(groups)
  })

  test('waits for nothing while the scheduler begins with the first group in any case', () => {
    const first = loop(bind({ ...runsIn('m1'), placement: divided }), prefers('m2'))
    expect(first.message).toBe('default/sales is in m2')
    expect(loop(first.binding, prefers('m2')).binding).toBe(first.binding)
  })

  test('brings the workload back after the window, with new names for the scheduler', () => {
    expect(groupsOf(narrowed)).toEqual(['default-local', 'default'])
    const waiting = loop(fallenBack, prefers('m2')).binding
    expect(groupsOf(waiting)).toEqual(['default-local', 'default'])
    expect(loop(waiting, prefers('m2'), { now: NOW + WINDOW - 1 }).binding).toBe(waiting)
    const returning = loop(waiting, prefers('m2'), { now: NOW + WINDOW }).binding
    expect(groupsOf(returning)).toEqual(['default-local.1', 'default.1'])
    const admitted = write(waiting, {}, { binding: returning, claims: prefers('m2'), now: NOW + WINDOW })
    expect(admitted.binding).toBe(returning)
    // The detector sends the placement of the policy.
    const policy = { placement: divided, lazy: false, requiresClaim: false }
    const rewritten = write(returning, { placement: divided }, { policy, claims: prefers('m2'), now: NOW + WINDOW })
    expect(groupsOf(rewritten.binding)).toEqual(['default-local.1', 'default.1'])
    const back = loop(inGroup(returning, 'default-local.1', 'm2'), prefers('m2'), { now: NOW + 9 * WINDOW })
    expect([groupsOf(back.binding), readAnnotations(back.binding.metadata.annotations).locality?.since]).toEqual([
      ['default-local.1', 'default.1'],
      undefined,
    ])
  })

  test('does not bring it back while the preferred cluster cannot take it, or for Never', () => {
    const broken = { clusters: lookup('m1', tainted('m2'), 'm3') }
    const waiting = loop(fallenBack, prefers('m2')).binding
    const brokenAgain = loop(waiting, prefers('m2'), { ...broken, now: NOW + WINDOW }).binding
    expect(groupsOf(brokenAgain)).toEqual(['default-local', 'default'])
    const never = [located(['m2'], { enforcement: 'Preferred', failback: 'Never' })]
    expect(groupsOf(loop(fallenBack, never, { now: NOW + 9 * WINDOW }).binding)).toEqual(['default-local', 'default'])
  })
})

describe('a workload that is ranked by the cost of its data', () => {
  const divided: Placement = { ...three, replicaScheduling: { replicaSchedulingType: 'Divided' } }
  const places = ['m1', 'm2', 'm3'].map((name) => makeCluster(name, { region: name }))
  const fleet = { clusters: lookup(...places), clusterNames: () => ['m1', 'm2', 'm3'] }
  const pricesTo = (cheapest: string) => {
    const links = [
      { from: {}, to: { region: cheapest }, pricePerGiB: 1 },
      { from: {}, to: {}, pricePerGiB: 2 },
    ]
    const matrix = openTransferMatrix({ links })
    if (!matrix) throw new Error('no links')
    return { prices: { ...fleet, matrix }, clusters: fleet.clusters }
  }
  const prefers = (where: string[], bytes = 2 ** 30) => [
    located(where, { enforcement: 'Preferred', preference: 'Cost', bytes }),
  ]
  const groupsOf = ({ spec }: ResourceBinding) =>
    spec.placement?.clusterAffinities?.map(({ clusterNames }) => `${clusterNames}`)
  const placed = loop(bind({ placement: divided }), prefers(['gone']), pricesTo('m2')).binding
  const running: ResourceBinding = {
    ...placed,
    spec: { ...placed.spec, ...runsIn('m2') },
    status: { schedulerObservingAffinityName: 'default-local' },
  }

  test('starts in the cheapest cluster', () => {
    expect(groupsOf(placed)).toEqual(['m2', 'm1,m3', 'm1,m2,m3'])
  })

  test.each<{ name: string; claims: ClaimAnswer[]; prices: Partial<BindingInput> }>([
    { name: 'prices', claims: prefers(['gone']), prices: pricesTo('m3') },
    { name: 'sizes', claims: prefers(['gone'], 2 ** 40), prices: pricesTo('m3') },
    { name: 'prices, which are not known any more,', claims: prefers(['gone']), prices: { clusters: fleet.clusters } },
  ])('keeps its ranking while it runs, although $name change', ({ claims, prices }) => {
    expect(loop(running, claims, prices).binding).toBe(running)
    expect(write(running, {}, { claims, ...prices }).binding).toEqual(running)
  })

  test('is ranked again when it loses its cluster', () => {
    const evicted = write(running, { clusters: [] }, { claims: prefers(['gone']), ...pricesTo('m3') })
    expect(groupsOf(evicted.binding)).toEqual(['m3', 'm1,m2', 'm1,m2,m3'])
  })

  test.each([
    { name: 'its data moves', claims: prefers(['m3']) },
    { name: 'its claim asks for another figure', claims: [located(['m3'], { enforcement: 'Preferred' })] },
  ])('is ranked again when $name', ({ claims }) => {
    expect(groupsOf(loop(running, claims, pricesTo('m2')).binding)?.[0]).toBe('m3')
  })
})

test('a workload stays narrowed if a second claim, which may be ignored, is unknown', () => {
  const claims = [located(['m2']), unknown({ claim: 'default/z', onUnresolved: 'Ignore' })]
  const first = loop(bind(runsIn('m1')), claims)
  expect(first).toMatchObject({ state: 'Narrowed', names: ['m2'] })
  expect(loop(first.binding, claims).binding).toBe(first.binding)
})

describe('a running workload of which one claim has no location', () => {
  const a = located(['m2'], { claim: 'default/a' })
  const wide = located(['m2', 'm3'], { claim: 'default/a' })
  const b = (clusters: string[]) => located(clusters, { claim: 'default/b' })
  const unknownB = (terms: Partial<ClaimAnswer> = {}) => unknown({ claim: 'default/b', ...terms })
  const nowhereB = (terms: Partial<ClaimAnswer> = {}) => nowhere({ claim: 'default/b', ...terms })

  test.each<{ name: string; before: ClaimAnswer[]; now: ClaimAnswer[] }>([
    { name: 'it holds, and the others demand the same', before: [a, b(['m2', 'm3'])], now: [a, unknownB()] },
    { name: 'it holds, since its data is gone', before: [a, b(['m2', 'm3'])], now: [a, nowhereB()] },
    {
      name: 'it may be ignored, and it had narrowed further',
      before: [wide, b(['m2'])],
      now: [wide, unknownB({ onUnresolved: 'Ignore' })],
    },
    {
      name: 'it may be ignored, since its data is gone',
      before: [wide, b(['m2'])],
      now: [wide, nowhereB({ onUnsatisfiable: 'Ignore' })],
    },
    { name: 'it is a preference now', before: [b(['m2'])], now: [unknownB({ enforcement: 'Preferred' })] },
  ])('stays narrowed if $name', ({ before, now }) => {
    const narrowed = loop(bind(runsIn('m2')), before)
    expect(narrowed).toMatchObject({ state: 'Narrowed', names: ['m2'] })
    const kept = loop(narrowed.binding, now)
    expect(kept).toMatchObject({ state: 'Kept', names: ['m2'] })
    expect(loop(kept.binding, now).binding).toBe(kept.binding)
  })

  test.each<{ name: string; claims: ClaimAnswer[] }>([
    { name: 'unknown', claims: [a, unknownB()] },
    { name: 'gone', claims: [a, nowhereB()] },
  ])('is not narrowed to the rest while its data is $name', ({ claims }) => {
    expect(loop(bind(runsIn('m1')), claims)).toMatchObject({ state: 'Ignored', names: ['m1', 'm2', 'm3'] })
  })

  test('continues a move to the last known location', () => {
    const moving = loop(bind(runsIn('m1')), [a])
    expect(moving.names).toEqual(['m2'])
    expect(loop(moving.binding, [unknown()])).toMatchObject({ state: 'Kept', names: ['m2'] })
  })

  test('is relaxed if it cannot stay, and the message has both reasons', () => {
    const narrowed = loop(bind(runsIn('m2')), [a]).binding
    const { state, message } = loop(
      { ...narrowed, spec: { ...narrowed.spec, clusters: [{ name: 'm1', replicas: 1 }] } },
      [unknown()],
      {
        clusters: lookup('m1', tainted('m2'), 'm3'),
      },
    )
    expect([state, message]).toEqual(['Relaxed', expect.stringMatching(/no DataSource yet; .*m2 has the taint/)])
  })
})

describe('a running workload that is restored from a backup, or whose annotations are not', () => {
  const claims = [located(['m2'])]
  const created = (binding: ResourceBinding, answers = claims) =>
    decideBinding(makeInput({ binding, claims: answers, clusters: healthy, leavesMovesToLoop: true }))
  const before = loop(bind(runsIn('m2')), claims).binding
  const broken = { clusters: lookup('m1', tainted('m2', 'NoExecute'), 'm3') }

  test('is narrowed to its data', () => {
    expect(created(bind(runsIn('m1'))).binding.spec.placement).toEqual(one('m2'))
  })

  test('stays relaxed if a write drops our annotations', () => {
    const relaxed = write(before, runsIn(), { claims, ...broken }).binding
    const replaced = { ...relaxed, spec: { ...relaxed.spec, ...runsIn('m1') } }
    expect(write(replaced, {}, { binding: { ...replaced, metadata: bind({}).metadata }, claims }).state).toBe('Relaxed')
  })

  test('stays with its data while it waits for a claim', () => {
    const waiting = loop(before, []).binding
    expect(created(waiting, [])).toMatchObject({ state: 'Kept', binding: { spec: { placement: one('m2') } } })
  })
})

test('a workload follows required data although a preference has an unknown location', () => {
  const preference = unknown({ claim: 'default/z', enforcement: 'Preferred' })
  const first = loop(bind(runsIn('m1')), [located(['m1']), preference]).binding
  const claims = [located(['m2']), preference]
  const moved = loop(first, claims)
  expect(moved).toMatchObject({ state: 'Narrowed', names: ['m2'] })
  expect(loop(moved.binding, claims).binding).toBe(moved.binding)
})

test('a kept workload that lost its clusters waits for its data as one that never ran', () => {
  const ran = bind(runsIn('m1'), { lastScheduledTime: '2026-01-01T00:00:00Z' })
  const kept = loop(ran, [located(['m3'])], { clusters: lookup('m1', tainted('m3')) }).binding
  const emptied = { ...kept, spec: { ...kept.spec, clusters: [] } }
  const held = loop(emptied, [unknown()])
  expect(held.state).toBe('OnHold')
  expect(loop(held.binding, [unknown()]).binding).toBe(held.binding)
})

test('the reason of a relaxed workload is the same for old and new group names', () => {
  const groups = [['m3'], ['m1', 'm2', 'm3']].map((clusterNames, i) => ({ affinityName: `g${i}`, clusterNames }))
  const placement = { clusterAffinities: groups }
  const before = loop(bind({ ...runsIn('m1'), placement }), [located(['m1', 'm3'])]).binding
  const status = { schedulerObservingAffinityName: 'g1', lastScheduledTime: '2026-01-01T00:00:00Z' }
  const observed = { ...before, status }
  const broken = { clusters: lookup(tainted('m1'), 'm2', tainted('m3')), claims: [located(['m1', 'm3'])] }
  const relaxed = write(observed, runsIn(), broken)
  expect(relaxed.message).toContain('m3 has the taint maintenance:NoSchedule')
  expect(relaxed.message).toContain('m1 has the taint maintenance:NoSchedule')
  expect(write(relaxed.binding, {}, broken).binding).toEqual(relaxed.binding)
})

test('no decision leaves a scheduled workload without a cluster that its policy allows', () => {
  const names = ['m1', 'm2', 'm3', 'm4']
  const subset = fc.subarray(names)
  const cluster = (name: string) =>
    fc.constantFrom(makeCluster(name), tainted(name), tainted(name, 'NoExecute'), without(name))
  const world = fc.tuple(...names.map(cluster)).map((all) => lookup(...all))
  const answers = fc.oneof(
    subset.filter((each) => each.length > 0).map((each) => [located(each)]),
    fc.constantFrom([unknown()], [nowhere()], []),
  )
  const step = fc.record({
    world,
    answers,
    runs: fc.option(subset, { nil: undefined }),
    evicted: subset,
    laterMs: fc.constantFrom(0, DELAY, WINDOW),
    byLoop: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 6 }), (steps) => {
      let stored = bind({ ...runsIn('m1'), placement: one(...names) }, { lastScheduledTime: '2026-01-01T00:00:00Z' })
      let now = NOW
      for (const { world: clusters, answers: claims, runs, evicted, laterMs, byLoop } of steps) {
        now += laterMs
        const tasks = evicted.map((fromCluster) => ({ fromCluster }))
        const spec = { ...(runs && runsIn(...runs)), gracefulEvictionTasks: tasks }
        const changed = { ...stored, spec: { ...stored.spec, ...spec } }
        const decision = byLoop
          ? loop(changed, claims, { clusters, now })
          : write(stored, spec, { claims, clusters, now })
        const { binding } = decision
        const refuses = schedulingRefusal(changed.spec, clusters)
        const ranOnce =
          changed.spec.clusters?.length || tasks.length || readAnnotations(stored.metadata.annotations).locality
        const affinity = binding.spec.placement ?? {}
        const misfit = findMisfit({
          affinity,
          refuses,
          spread: () => undefined,
          usesOverflow: true,
          observedGroup: undefined,
        })
        const mustFit = ranOnce && names.some((name) => refuses(name) === undefined)
        expect(mustFit ? misfit : undefined).toBeUndefined()
        const again = loop(binding, claims, { clusters, now })
        expect(loop(again.binding, claims, { clusters, now }).binding).toBe(again.binding)
        stored = binding
      }
    }),
    { numRuns: 500 },
  )
})
