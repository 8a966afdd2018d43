/** An index of the bindings of a world: which of them a change may concern. It is built once for many questions. */
import { dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import { type Cluster, isBinding, isPolicy, type PropagationPolicy, type ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject, objectKey } from '../../api/meta.ts'
import { addTo } from '../../base/multimap.ts'
import { targetClusters } from '../../core/placement/binding-state.ts'
import { preemptable } from '../../core/propagation-policy/preemption.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { claimsRegranted } from '../permission.ts'
import { claimsConcerned } from '../source.ts'
import { bindingsByVolume } from '../volume-locations.ts'
import { allBindings, bindingsOfClaim, bindingsOfWorkload } from '../workload.ts'
import { clustersAround, countsClusters, dataOf } from './clusters-around.ts'
import { UnscheduledBindings } from './unscheduled-bindings.ts'
import { placedBindings, type World } from './world.ts'

export interface BindingIndex {
  /** The number of bindings with a placement. */
  size: number
  /** Returns the bindings whose outcome may differ in a supposed world. */
  concernedBy(supposed: World): Concerned
  /** Returns how many bindings are attached to a binding: its dependencies. */
  dependenciesOf(key: string): number
}

/** The keys of bindings, in no order. */
export interface Concerned {
  certain: ReadonlySet<string>
  /** The others, which only the clusters that got worse may concern, and which run in none of them: see `mayGetWorse`. */
  possible: readonly string[]
}

const NO_CLUSTERS: ReadonlyMap<string, Cluster> = new Map()

/** Reads every binding of a world once, and yields to the event loop meanwhile. Throws when the signal aborts. */
export async function indexBindings(world: World, signal?: AbortSignal): Promise<BindingIndex> {
  const { store } = world
  const byCluster = new Map<string, string[]>()
  const aroundCluster = new Map<string, string[]>()
  const byPolicy = new Map<string, string[]>()
  const unscheduled = new UnscheduledBindings(world)
  const size = await forEachInSlices(placedBindings(store), (binding) => {
    signal?.throwIfAborted()
    const key = keyOfObject(binding)
    const data = dataOf(binding, world)
    const coverage = unscheduled.add(key, binding, data)
    if (coverage !== 'all') {
      const around = clustersAround(binding, data, world)
      if (coverage === 'furtherClusters') for (const name of unscheduled.lastClusters(binding)) around.add(name)
      addToClusters(key, binding.spec, around)
    }
    const policy = policyReferenceOf(binding.metadata)
    addTo(byPolicy, policy ? policyKey(policy) : NO_POLICY, key)
  })

  function addToClusters(key: string, spec: ResourceBinding['spec'], around: ReadonlySet<string>): void {
    const targets = targetClusters(spec)
    for (const name of targets) addTo(byCluster, name, key)
    const others = countsClusters(spec) ? byCluster : aroundCluster
    for (const name of around) if (!targets.includes(name)) addTo(others, name, key)
  }

  function* concernedByChange(change: StoreChange, supposed: ObjectStore): Generator<string, void, undefined> {
    const object = change.after ?? change.before
    if (object && isPolicy(object.kind)) {
      for (const policy of [policyKey(object.metadata), NO_POLICY]) yield* byPolicy.get(policy) ?? []
      if (change.after) yield* takenOverBy(change.after as PropagationPolicy, store)
    } else if (object && isBinding(object.kind)) yield keyOfObject(object)
    for (const each of [store, supposed]) yield* concernedByData(change, each)
  }

  let attached: ReadonlyMap<string, number> | undefined
  return {
    size,
    concernedBy(supposed) {
      const { changes, written, worse = NO_CLUSTERS } = supposed
      // A cluster that changed otherwise may be open to any workload.
      const certain = new Set(supposed.worse ? [] : allKeys(store))
      const add = (found: Iterable<string>) => {
        for (const key of found) certain.add(key)
      }
      for (const change of changes) add(concernedByChange(change, supposed.store))
      add(written.keys())
      for (const name of worse.keys()) add(byCluster.get(name) ?? [])
      add(unscheduled.concernedBy(worse))
      const around = new Set([...worse.keys()].flatMap((name) => aroundCluster.get(name) ?? []))
      return { certain, possible: [...around].filter((key) => !certain.has(key)) }
    },
    dependenciesOf(key) {
      attached ??= countAttached(store)
      return attached.get(key) ?? 0
    },
  }
}

/** The keys of the bindings that a change of claims, sources, namespaces or volumes concerns. */
function concernedByData(change: StoreChange, store: ObjectStore): string[] {
  const objects = [change.before, change.after].filter((object) => object !== undefined)
  const claims =
    change.type === dataSourceClaims
      ? (objects as DataSourceClaim[])
      : change.type === dataSources
        ? [...claimsConcerned(change, store)]
        : [...claimsRegranted(change, store)]
  const bindings = [...claims.flatMap((claim) => bindingsOfClaim(claim, store)), ...bindingsByVolume(change, store)]
  return bindings.map(keyOfObject)
}

/** The keys of the bindings that a policy may take over from other policies. */
function takenOverBy(policy: PropagationPolicy, store: ObjectStore): string[] {
  return preemptable(policy).flatMap((workload) => bindingsOfWorkload(workload, store).map(keyOfObject))
}

function* allKeys(store: ObjectStore): Generator<string, void, undefined> {
  for (const binding of placedBindings(store)) yield keyOfObject(binding)
}

/** A policy may select a binding that has none. No policy has this key, which has no slash. */
const NO_POLICY = 'none'

function policyKey({ namespace, name = '' }: { namespace?: string; name?: string }): string {
  return `${namespace ?? ''}/${name}`
}

/** The number of attached bindings, by the key of the binding that needs them. */
function countAttached(store: ObjectStore): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { spec } of allBindings(store)) {
    for (const { namespace, name } of spec.requiredBy ?? []) {
      const key = objectKey(namespace, name)
      counts.set(key, (counts.get(key) ?? 0) + 1)
    }
  }
  return counts
}
