import { describe, expect, test } from 'vitest'
import { makeBinding, makeCluster } from '../../../test/builders.ts'
import type { BindingSpec, Cluster, Placement } from '../../api/karmada.ts'
import { newestRules, strictestRules } from '../karmada-rules.ts'
import { compileFleet, type Fleet, worsenFleet } from './fleet.ts'
import { leaveCluster, taintCluster } from './suppose.ts'

const gold = { tier: 'gold' }
const FLEET = [
  makeCluster('m3', {}, gold),
  makeCluster('m1', {}, gold),
  makeCluster('m2', { taints: [{ key: 'broken', effect: 'NoSchedule' }] }),
]
const OVERFLOW: Placement = {
  clusterAffinities: [
    {
      affinityName: 'first',
      clusterNames: ['m1'],
      overflowAffinities: [{ affinityName: 'more', clusterNames: ['m3', 'm2'] }],
    },
    { affinityName: 'second', clusterNames: ['m3'] },
  ],
}
const CONFIG_MAP = { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', name: 'app' }

/** The specification of a Deployment, or of a ConfigMap, which has no replicas. */
function specOf(placement: Placement | undefined, isWorkload = true): BindingSpec {
  const { placement: _default, replicas: _replicas, ...spec } = makeBinding().spec
  return { ...spec, ...(placement && { placement }), ...(isWorkload ? { replicas: 2 } : { resource: CONFIG_MAP }) }
}

interface Given {
  name: string
  placement?: Placement
  isWorkload?: boolean
  rules?: typeof newestRules
  clusters?: Cluster[]
  /** The clusters of each group: those that it allows, and those that take a new workload. */
  want: { name?: string; allowed: string[]; open: string[] }[]
}

const ALL = { allowed: ['m1', 'm2', 'm3'], open: ['m1', 'm3'] }
const BOTH_TIERS = [
  { name: 'first', ...ALL },
  { name: 'second', allowed: ['m3'], open: ['m3'] },
]
const OWN_CLUSTERS = [
  { name: 'first', allowed: ['m1'], open: ['m1'] },
  { name: 'second', allowed: ['m3'], open: ['m3'] },
]

const GROUPS: Given[] = [
  { name: 'a binding without a placement may go everywhere', want: [ALL] },
  { name: 'a placement without an affinity allows every cluster', placement: {}, want: [ALL] },
  {
    name: 'of the named clusters, those count that exist and match the labels',
    placement: {
      clusterAffinity: { clusterNames: ['m9', 'm3', 'm2', 'm1'], labelSelector: { matchLabels: gold } },
    },
    want: [{ allowed: ['m1', 'm3'], open: ['m1', 'm3'] }],
  },
  {
    name: 'a label selector without names chooses from all clusters',
    placement: { clusterAffinity: { labelSelector: { matchLabels: gold } } },
    want: [{ allowed: ['m1', 'm3'], open: ['m1', 'm3'] }],
  },
  { name: 'a workload may overflow', placement: OVERFLOW, want: BOTH_TIERS },
  { name: 'a resource without replicas does not overflow', placement: OVERFLOW, isWorkload: false, want: OWN_CLUSTERS },
  { name: 'an older Karmada has no overflow', placement: OVERFLOW, rules: strictestRules, want: OWN_CLUSTERS },
  {
    name: 'every name is a cluster if none is known',
    placement: { clusterAffinity: { clusterNames: ['m9', 'm8'] } },
    clusters: [],
    want: [{ allowed: ['m8', 'm9'], open: ['m8', 'm9'] }],
  },
]

test.each(GROUPS)('$name', ({ placement, isWorkload, rules = newestRules, clusters = FLEET, want }) => {
  const fleet = compileFleet(clusters, rules)
  const spec = specOf(placement, isWorkload)
  const found = fleet
    .groupsOf(spec)
    .map((group) => ({ name: group.name, allowed: group.allowed(), open: group.open(spec.resource).names }))
  expect(found).toEqual(want)
})

test.each(GROUPS)('$name: a group allows exactly the clusters that it lists', ({ placement, ...given }) => {
  const { isWorkload, rules = newestRules, clusters = FLEET, want } = given
  const fleet = compileFleet(clusters, rules)
  const spec = specOf(placement, isWorkload)
  const names = ['m1', 'm2', 'm3', 'm8', 'm9']
  const allowed = fleet.groupsOf(spec).map((group) => names.filter((name) => group.allows(name)))
  expect(allowed).toEqual(want.map((group) => group.allowed))
})

describe('a fleet with worse clusters is that of the changed clusters', () => {
  const tainted = taintCluster(FLEET[1] as Cluster, { key: 'broken', effect: 'NoSchedule' })
  const leaving = leaveCluster(FLEET[0] as Cluster, 0)
  test.each(GROUPS)('$name', ({ placement, isWorkload, rules = newestRules, clusters = FLEET }) => {
    const spec = specOf(placement, isWorkload)
    const known = [tainted, leaving].filter(({ metadata }) =>
      clusters.some((one) => one.metadata.name === metadata.name),
    )
    const worse = new Map(known.map((cluster) => [cluster.metadata.name ?? '', cluster]))
    const present = compileFleet(clusters, rules)
    const changed = clusters.map((cluster) => worse.get(cluster.metadata.name ?? '') ?? cluster)
    expect(described(worsenFleet(present, worse), spec)).toEqual(described(compileFleet(changed, rules), spec))
    // The present one stays as it is.
    expect(described(present, spec)).toEqual(described(compileFleet(clusters, rules), spec))
  })

  function described(fleet: Fleet, spec: BindingSpec) {
    const names = ['m1', 'm2', 'm3', 'm8', 'm9']
    return {
      groups: fleet.groupsOf(spec).map((group) => {
        const open = group.open(spec.resource)
        return [group.name, group.allowed(), open.names, names.filter(open.has), names.filter(group.allows)]
      }),
      gone: names.filter(fleet.isGone),
      taints: names.map((name) => fleet.clusters?.(name)?.spec?.taints),
    }
  }
})

describe('the same placement', () => {
  test('has overflow for a workload, and none for a resource without replicas', () => {
    const fleet = compileFleet(FLEET, newestRules)
    const allowed = (isWorkload: boolean) => fleet.groupsOf(specOf(OVERFLOW, isWorkload)).map((each) => each.allowed())
    expect([allowed(true), allowed(false), allowed(true)]).toEqual([
      [['m1', 'm2', 'm3'], ['m3']],
      [['m1'], ['m3']],
      [['m1', 'm2', 'm3'], ['m3']],
    ])
  })

  test('is open in the clusters that serve the kind, for each kind', () => {
    const serving = (name: string, kind: string) => ({
      ...makeCluster(name),
      status: { apiEnablements: [{ groupVersion: 'apps/v1', resources: [{ kind }] }] },
    })
    const fleet = compileFleet([serving('m1', 'Deployment'), serving('m2', 'StatefulSet')], newestRules)
    const [group] = fleet.groupsOf(specOf({}))
    const openFor = (kind: string) => group?.open({ apiVersion: 'apps/v1', kind, name: 'app' }).names
    expect([openFor('Deployment'), openFor('StatefulSet'), openFor('Deployment')]).toEqual([['m1'], ['m2'], ['m1']])
  })
})

test('a fleet finds its Clusters by name, and has no look-up without any', () => {
  expect(compileFleet([], newestRules).clusters).toBeUndefined()
  const { clusters } = compileFleet(FLEET, newestRules)
  expect([clusters?.('m1'), clusters?.('m9')]).toEqual([FLEET[1], undefined])
})
