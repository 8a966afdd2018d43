import { expect, test } from 'vitest'
import { DEFAULT_DECISIONS, makeBinding, makeClaim, makeCluster, makePolicy, NOW } from '../../../test/builders.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  type BindingSpec,
  type ClusterAffinity,
  clusters as clusterType,
  propagationPolicies,
  resourceBindings,
} from '../../api/karmada.ts'
import { newestRules } from '../../core/karmada-rules.ts'
import { loseCluster } from '../../core/what-if/suppose.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import { openFolderStore } from '../../store/folder/folder.ts'
import { allKinds } from '../../store/kinds/cached-kinds.ts'
import { OverlayStore } from '../../store/overlay-store.ts'
import { indexBindings } from './binding-index.ts'
import { openWorld, supposeWorld } from './world.ts'

const settings = { ...DEFAULT_DECISIONS, now: NOW, karmadaRules: newestRules }
const policyAnnotations = {
  'propagationpolicy.karmada.io/namespace': 'default',
  'propagationpolicy.karmada.io/name': 'policy',
}
const clusters = ['m1', 'm2', 'm3', 'm4', 'm5'].map((name) => makeCluster(name))

/** The number of bindings that a loss concerns, of one binding. Without a claim, `ours` end, and the affinity of the policy applies. */
async function concernedBy(
  spec: Partial<BindingSpec>,
  lost: readonly string[],
  {
    ours = {},
    clusterAffinity = {},
    claims = [],
  }: { ours?: Record<string, string>; clusterAffinity?: ClusterAffinity; claims?: DataSourceClaim[] } = {},
) {
  const binding = makeBinding(spec, { annotations: { ...policyAnnotations, ...ours } })
  const kinds = allKinds(SHIPPED_KINDS)
  const store = openFolderStore({ kinds })
  await store.start(new AbortController().signal)
  for (const cluster of clusters) await store.create(clusterType, cluster)
  await store.create(propagationPolicies, makePolicy({ placement: { clusterAffinity } }, { name: 'policy' }))
  for (const claim of claims) await store.create(dataSourceClaims, claim)
  await store.create(resourceBindings, binding)
  const present = openWorld(store, { ...settings, clusterScopedClaims: 'forbidden' })
  const index = await indexBindings(present)
  const overlay = new OverlayStore(store, kinds)
  const changes = clusters
    .filter(({ metadata }) => lost.includes(metadata.name ?? ''))
    .map((cluster) => overlay.put(clusterType, loseCluster(cluster)))
  const { certain, possible } = index.concernedBy(supposeWorld(present, { store: overlay, changes }))
  return certain.size + possible.length
}

const outside = (...clusterNames: string[]) => ({
  placement: { clusterAffinity: { clusterNames } },
  clusters: [{ name: 'm1', replicas: 1 }],
})
const spreadConstraints = [{ spreadByField: 'cluster' as const, minGroups: 2, maxGroups: 3 }]

test.each<[string, Partial<BindingSpec>, string[], number]>([
  ['a choice of three clusters loses one', outside('m2', 'm3', 'm4'), ['m3'], 0],
  ['a choice of three clusters loses two', outside('m2', 'm3', 'm4'), ['m3', 'm4'], 1],
  ['a choice of two clusters loses one', outside('m2', 'm3'), ['m3'], 1],
  ['the only choice is lost', outside('m2'), ['m2'], 1],
  ['a cluster outside of the choice is lost', outside('m2', 'm3'), ['m5'], 0],
  ['the cluster in which the workload runs is lost', outside('m2', 'm3', 'm4'), ['m1'], 1],
  [
    'a choice that is counted loses one cluster',
    { ...outside('m2', 'm3', 'm4'), placement: { ...outside('m2', 'm3', 'm4').placement, spreadConstraints } },
    ['m3'],
    1,
  ],
])('if %s, the workloads outside of their placement are counted correctly', async (...given) => {
  const [, spec, lost, want] = given
  expect(await concernedBy(spec, lost)).toBe(want)
})

test('a loss concerns a running workload on hold: its hold ends, and it moves', async () => {
  const hold = { message: 'default/sales: no DataSource yet', reason: 'Unresolved', since: new Date(NOW).toISOString() }
  const clusterAffinity = { exclude: ['m1', 'm4', 'm5'] }
  const spec = { ...outside(), placement: { clusterAffinity }, suspension: { scheduling: true } }
  const ours = { 'lodestone.dev/hold': JSON.stringify(hold) }
  expect(await concernedBy(spec, ['m3'], { ours, clusterAffinity })).toBe(1)
})

const narrowedTo = (name: string) => {
  const locality = {
    state: 'Narrowed',
    message: `default/sales is in ${name}`,
    claims: ['default/sales'],
    required: [name],
  }
  return { 'lodestone.dev/base-affinity': '{}', 'lodestone.dev/locality': JSON.stringify(locality) }
}

test('a loss concerns a workload whose narrowing to too few clusters ends', async () => {
  const spec = { ...outside(), placement: { clusterAffinity: { clusterNames: ['m2'] }, spreadConstraints } }
  const clusterAffinity = { exclude: ['m1', 'm5'] }
  expect(await concernedBy(spec, ['m4'], { ours: narrowedTo('m2'), clusterAffinity })).toBe(1)
})

test('a loss concerns a workload whose narrowing ends if one other cluster is left', async () => {
  const spec = { ...outside('m1'), gracefulEvictionTasks: [{ fromCluster: 'm1' }] }
  const clusterAffinity = { exclude: ['m1', 'm3', 'm4', 'm5'] }
  expect(await concernedBy(spec, ['m2'], { ours: narrowedTo('m1'), clusterAffinity })).toBe(1)
})

test.each<[string, string[], number]>([
  ['all clusters', ['m2', 'm3', 'm4'], 1],
  ['all clusters but one', ['m3', 'm4'], 1],
  ['one cluster', ['m3'], 0],
])('a loss of %s of the next choice is counted right when a narrowing ends', async (_, lost, want) => {
  const spec = { ...outside('m1'), gracefulEvictionTasks: [{ fromCluster: 'm5' }] }
  const clusterAffinity = { exclude: ['m1', 'm5'] }
  expect(await concernedBy(spec, lost, { ours: narrowedTo('m1'), clusterAffinity })).toBe(want)
})

test('a loss concerns a workload without a claim during the release delay', async () => {
  const { 'lodestone.dev/locality': text = '', ...base } = narrowedTo('m1')
  const ours = {
    ...base,
    'lodestone.dev/locality': JSON.stringify({ ...JSON.parse(text), since: '2026-01-02T03:04:00Z' }),
  }
  expect(await concernedBy(outside('m1'), ['m2', 'm3', 'm4', 'm5'], { ours })).toBe(1)
})

test.each<[string, string[], number]>([
  ['all clusters', ['m2', 'm3', 'm4'], 1],
  ['one cluster', ['m3'], 0],
])('a loss of %s in which a workload starts when its hold times out is counted right', async (_, lost, want) => {
  const hold = { message: 'default/sales: no DataSource yet', reason: 'Unresolved', since: new Date(NOW).toISOString() }
  const clusterAffinity = { exclude: ['m1', 'm5'] }
  const spec = { placement: { clusterAffinity }, suspension: { scheduling: true } }
  const ours = { 'lodestone.dev/hold': JSON.stringify(hold) }
  const claims = [makeClaim({ policy: { holdTimeoutSeconds: 600 } })]
  expect(await concernedBy(spec, lost, { ours, clusterAffinity, claims })).toBe(want)
})
