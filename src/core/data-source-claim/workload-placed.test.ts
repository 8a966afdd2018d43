import { describe, expect, test } from 'vitest'
import { located, lookup, makeBinding, makeCluster, makeInput, unknown } from '../../../test/builders.ts'
import {
  type BindingSpec,
  type Cluster,
  MANAGED_BY_LABEL,
  type Placement,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { decideBinding } from '../resource-binding/decide.ts'
import { isPlacedWarning, workloadPlaced } from './workload-placed.ts'

const runsIn = (...names: string[]) => ({ clusters: names.map((name) => ({ name })) })
const inOneCluster: Placement = { spreadConstraints: [{ spreadByField: 'cluster', minGroups: 1, maxGroups: 1 }] }
const tainted = (name: string) => makeCluster(name, { taints: [{ key: 'k', effect: 'NoSchedule' }] })

/** The binding as the loop leaves it. */
function decided(
  spec: Partial<BindingSpec>,
  claims = [located(['member3'])],
  ...clusters: (Cluster | string)[]
): ResourceBinding {
  const binding = makeBinding(spec)
  const known = clusters.length > 0 ? { clusters: lookup('member1', 'member2', ...clusters) } : {}
  return decideBinding(makeInput({ binding, stored: binding, claims, ...known })).binding
}

const failed = (binding: ResourceBinding): ResourceBinding => ({
  ...binding,
  status: { conditions: [{ type: 'Scheduled', status: 'False', reason: 'QuotaExceeded' }] },
})

/** The binding after its policy was deleted. */
function withoutPolicy(binding: ResourceBinding): ResourceBinding {
  const own = Object.entries(binding.metadata.annotations ?? {}).filter(([key]) => key.startsWith('lodestone.dev/'))
  return { ...binding, metadata: { ...binding.metadata, annotations: Object.fromEntries(own) } }
}

const NO_POLICY = 'no policy selects the workload any more, so the scheduler looks at it only when a cluster changes'

function line(...bindings: ResourceBinding[]): string | undefined {
  const state = workloadPlaced(bindings, [])
  return state && `${state.status} ${state.reason}: ${state.message}`
}

describe('a claim says of its workload that it', () => {
  test.each<{ name: string; binding: ResourceBinding; want: string | undefined }>([
    {
      name: 'is scheduled with its data',
      binding: decided(runsIn('member3')),
      want: 'True Placed: the workload is scheduled to member3',
    },
    {
      name: 'is scheduled elsewhere, and where the data is that it prefers',
      binding: decided(
        { ...runsIn('member1'), placement: inOneCluster },
        [located(['member3'], { enforcement: 'Preferred' })],
        tainted('member3'),
      ),
      want: 'True Placed: the workload is scheduled to member1; default/sales is in member3',
    },
    {
      name: 'is scheduled with the data that it prefers',
      binding: decided({ ...runsIn('member3'), placement: inOneCluster }, [
        located(['member3'], { enforcement: 'Preferred' }),
      ]),
      want: 'True Placed: the workload is scheduled to member3',
    },
    {
      name: 'is on hold, and why',
      binding: decided({}, [unknown()]),
      want: 'False OnHold: default/sales: no DataSource yet',
    },
    {
      name: 'is on hold for a taint of the cluster with its data',
      binding: decided({}, undefined, tainted('member3')),
      want: 'False OnHold: default/sales (member3): member3 has the taint k:NoSchedule, which the policy does not tolerate',
    },
    {
      name: 'is on hold for a cluster that does not exist',
      binding: decided({}, undefined, 'member4'),
      want: 'False OnHold: default/sales (member3): the data is in member3, for which no Cluster exists; join the cluster, or correct the mapping or the DataSource',
    },
    {
      name: 'is kept where it is, and why',
      binding: decided(runsIn('member1'), undefined, tainted('member3')),
      want: 'True Kept: the workload is scheduled to member1; no cluster with the data can take the workload: member3 has the taint k:NoSchedule, which the policy does not tolerate',
    },
    {
      name: 'is relaxed, and why',
      binding: decided({ ...runsIn('member1'), gracefulEvictionTasks: [{ fromCluster: 'member3' }] }),
      want: 'True Relaxed: the workload is scheduled to member1; no cluster with the data can take the workload: member3 is being evicted',
    },
    {
      name: 'is scheduled without regard to the claim',
      binding: decided(runsIn('member1'), [unknown({ onUnresolved: 'Ignore' })]),
      want: 'True NotNarrowed: the workload is scheduled to member1',
    },
    {
      name: 'runs in many clusters',
      binding: makeBinding(runsIn('a', 'b', 'c', 'd', 'e', 'f', 'g')),
      want: 'True NotNarrowed: the workload is scheduled to a, b, c, d, e and 2 more',
    },
    {
      name: 'is not scheduled, since the scheduler cannot schedule it',
      binding: failed(decided({})),
      want: 'False NotScheduled: the scheduler has not chosen a cluster yet (QuotaExceeded; see the condition Scheduled of the binding)',
    },
    {
      name: 'is not scheduled, since karmada-descheduler has taken all of its replicas',
      binding: failed(
        decided({
          placement: { replicaScheduling: { replicaSchedulingType: 'Divided' } },
          replicas: 2,
          clusters: [{ name: 'member3', replicas: 0 }],
        }),
      ),
      want: 'False NotScheduled: the scheduler has not chosen a cluster yet (QuotaExceeded; see the condition Scheduled of the binding)',
    },
    {
      name: 'is not scheduled, since no policy selects it any more',
      binding: withoutPolicy(decided({})),
      want: `False NotScheduled: ${NO_POLICY}`,
    },
    {
      name: 'has lost its clusters, and no policy selects it any more',
      binding: failed(withoutPolicy(decided({}))),
      want: `False NotScheduled: ${NO_POLICY} (QuotaExceeded; see the condition Scheduled of the binding)`,
    },
    {
      name: 'is not scheduled, since another client has suspended that',
      binding: decided({ suspension: { scheduling: true } }),
      want: 'False NotScheduled: another client has suspended its scheduling',
    },
    {
      name: 'is not scheduled yet for its MultiClusterService: nothing',
      binding: { ...withoutPolicy(decided({})), metadata: { labels: { [MANAGED_BY_LABEL]: 'MultiClusterService' } } },
      want: undefined,
    },
    {
      name: 'stays where it is, since the scheduler cannot move it',
      binding: failed(decided(runsIn('member1'))),
      want: 'True Kept: the workload is scheduled to member1; default/sales is in member3; the scheduler could not move it there (QuotaExceeded; see the condition Scheduled of the binding)',
    },
    {
      name: 'stays where it is, since another client has suspended its scheduling',
      binding: decided({ ...runsIn('member1'), suspension: { scheduling: true } }),
      want: 'True Kept: the workload is scheduled to member1; default/sales is in member3; another client has suspended its scheduling, so it does not move there',
    },
    {
      name: 'keeps a copy away from its data, since no policy selects it any more',
      binding: withoutPolicy(decided(runsIn('member1', 'member3'))),
      want: `True Kept: the workload is scheduled to member1, member3; default/sales is in member3; ${NO_POLICY}`,
    },
    {
      name: 'is about to move',
      binding: decided(runsIn('member1')),
      want: 'True Placed: the workload is scheduled to member1',
    },
    {
      name: 'is with its data, and cannot get further replicas',
      binding: failed(decided(runsIn('member3'))),
      want: 'True Placed: the workload is scheduled to member3',
    },
    { name: 'is not scheduled yet: nothing, since that takes a moment', binding: decided({}), want: undefined },
  ])('$name', ({ binding, want }) => {
    expect(line(binding)).toBe(want)
  })

  test.each(['Divided', 'Duplicated'])(
    'was removed from its clusters for lack of replicas (%s): nothing',
    (replicaSchedulingType) => {
      const placement = { replicaScheduling: { replicaSchedulingType } }
      const before = [{ ...workloadPlaced([decided(runsIn('member3'))], []), lastTransitionTime: '' }] as never
      const binding = decided({ placement, replicas: 0, replicaRequirements: {} })
      expect(workloadPlaced([binding], before)).toBeUndefined()
      expect(workloadPlaced([failed(binding)], before)).toMatchObject({ reason: 'NotScheduled' })
    },
  )

  test('is not scheduled any more', () => {
    const before = [{ ...workloadPlaced([decided(runsIn('member3'))], []), lastTransitionTime: '' }]
    expect(workloadPlaced([decided({})], before as never)).toMatchObject({ status: 'False', reason: 'NotScheduled' })
  })

  test('has no binding, or follows another workload: nothing', () => {
    const { placement: _placement, ...spec } = makeBinding().spec
    expect([line(), line({ ...makeBinding(), spec })]).toEqual([undefined, undefined])
  })
})

test('a workload that does not run with its data deserves a Warning', () => {
  const reasons = ['Placed', 'NotNarrowed', 'NotScheduled', 'OnHold', 'Kept', 'Relaxed']
  expect(reasons.filter(isPlacedWarning)).toEqual(['OnHold', 'Kept', 'Relaxed'])
})
