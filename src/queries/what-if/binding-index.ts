/** An index of the bindings of a world: which of them a change may concern. It is built once for many questions. */
import { type DataSource, dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  type BindingSpec,
  type Cluster,
  clusterResourceBindings,
  clusters,
  isBinding,
  isPolicy,
  type ResourceBinding,
  resourceBindings,
} from '../../api/karmada.ts'
import { keyOfObject, objectKey } from '../../api/meta.ts'
import { jsonEqual, without } from '../../base/json.ts'
import { affinityTerms, effectiveAffinity } from '../../core/placement/affinity.ts'
import {
  hasNoFit,
  hasTarget,
  isSuspended,
  isWorkload,
  schedulingFailure,
  targetClusters,
} from '../../core/placement/binding-state.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import type { PresentOutcome } from '../../core/what-if/effect.ts'
import type { Fleet } from '../../core/what-if/fleet.ts'
import type { Schedule } from '../../core/what-if/schedule.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { claimsFor, claimsRegranted } from '../permission.ts'
import { claimSource, claimsOfSource } from '../source.ts'
import { bindingsByVolume, locateVolumes } from '../volume-locations.ts'
import { bindingsOfClaim } from '../workload.ts'
import { placedBindings, predictOutcome, type World } from './world.ts'

export interface BindingIndex {
  /** The number of bindings with a placement. */
  size: number
  /** Returns the keys of the bindings whose outcome may differ in a supposed world, in no order. */
  concernedBy(supposed: World): Set<string>
  /** Returns how many bindings are attached to a binding: its dependencies. */
  dependenciesOf(key: string): number
}

/** Returns the outcome of a binding in the present world, and remembers it. */
export type PresentOutcomes = (binding: ResourceBinding, isQueued: boolean) => PresentOutcome

/** Reads every binding of a world once, and yields to the event loop meanwhile. Throws when the signal aborts. */
export async function indexBindings(
  world: World,
  outcomeBefore: PresentOutcomes,
  signal?: AbortSignal,
): Promise<BindingIndex> {
  const { store, fleet } = world
  const byCluster = new Map<string, string[]>()
  const heldByCluster = new Map<string, ResourceBinding[]>()
  const byPolicy = new Map<string, string[]>()
  const unscheduled = new UnscheduledBindings(world)
  const size = await forEachInSlices(placedBindings(store), (binding) => {
    signal?.throwIfAborted()
    const key = keyOfObject(binding)
    const isKnown = !isSuspended(binding.spec) && !isScheduled(binding.spec, fleet) && unscheduled.add(key, binding)
    if (!isKnown) {
      const isHeld = isSuspended(binding.spec) && !hasTarget(binding.spec) && !countsClusters(binding.spec)
      for (const name of clustersAround(binding, world)) {
        if (isHeld) addTo(heldByCluster, name, binding)
        else addTo(byCluster, name, key)
      }
    }
    const policy = policyReferenceOf(binding.metadata)
    addTo(byPolicy, policy ? policyKey(policy) : NO_POLICY, key)
  })
  let attached: ReadonlyMap<string, number> | undefined
  return {
    size,
    concernedBy(supposed) {
      const keys = new Set<string>()
      const worse = new Set<string>()
      const add = (found: Iterable<string>) => {
        for (const key of found) keys.add(key)
      }
      for (const change of supposed.changes) {
        const object = change.after ?? change.before
        if (change.type === clusters) {
          const name = object?.metadata.name ?? ''
          add(byCluster.get(name) ?? [])
          if (isOnlyWorse(change)) worse.add(name)
          else add(allKeys(store))
        } else if (object && isPolicy(object.kind)) {
          for (const policy of [policyKey(object.metadata), NO_POLICY]) add(byPolicy.get(policy) ?? [])
        } else if (object && isBinding(object.kind)) keys.add(keyOfObject(object))
        for (const each of [store, supposed.store]) add(concernedByData(change, each))
      }
      add(unscheduled.concernedBy(worse))
      for (const name of worse)
        for (const binding of heldByCluster.get(name) ?? [])
          if (mayGetWorse(outcomeBefore(binding, false), worse)) keys.add(keyOfObject(binding))
      return keys
    },
    dependenciesOf(key) {
      attached ??= countAttached(store)
      return attached.get(key) ?? 0
    },
  }
}

/**
 * The workloads that the scheduler still tries to place. Each cluster of its placement may matter to such a workload. A workload on hold is none
 * of them: it depends on the clusters of its data only.
 */
class UnscheduledBindings {
  readonly #world: World
  /** Those that run nowhere: the clusters between which the scheduler chooses, with the keys of the bindings. */
  readonly #byChoice = new Map<readonly string[], string[]>()
  readonly #others: { key: string; spec: BindingSpec }[] = []

  constructor(world: World) {
    this.#world = world
  }

  /** Returns whether `concernedBy` says all about the binding: then its data does not matter. */
  add(key: string, binding: ResourceBinding): boolean {
    const { spec } = binding
    const isOther = hasTarget(spec) || hasNoFit(binding) || countsClusters(spec)
    if (isOther) {
      this.#others.push({ key, spec })
      return false
    }
    for (const choice of schedulerChoices(predictOutcome(binding, this.#world, { isQueued: false })))
      addTo(this.#byChoice, choice, key)
    return true
  }

  /** Returns the keys of those that a loss of clusters may concern. A smaller choice is no effect, and no choice does not get worse. */
  *concernedBy(lost: ReadonlySet<string>): Generator<string, void, undefined> {
    if (lost.size === 0) return
    for (const [choice, keys] of this.#byChoice) if (choice.every((name) => lost.has(name))) yield* keys
    for (const { key, spec } of this.#others)
      for (const name of lost) if (this.#world.fleet.allows(spec, name)) yield key
  }
}

/** Whether the workload runs, and its placement allows each of its clusters. If not, the scheduler retries. */
function isScheduled(spec: BindingSpec, fleet: Fleet): boolean {
  const targets = targetClusters(spec)
  return targets.length > 0 && targets.every((name) => fleet.allows(spec, name))
}

/** Whether a placement needs a number of clusters: then each cluster that it allows matters, and not only the last one. */
function countsClusters({ placement }: BindingSpec): boolean {
  return (placement?.spreadConstraints?.length ?? 0) > 0
}

/** Whether worse clusters may change what becomes of a workload that is on hold. They end no hold, and a smaller choice is no effect. */
function mayGetWorse(outcome: PresentOutcome, worse: ReadonlySet<string>): boolean {
  return schedulerChoices(outcome).some((choice) => choice.every((name) => worse.has(name)))
}

/** The schedules of an outcome: at once, and after a waiting time. */
interface Scheduled {
  first: { schedule: Schedule }
  later?: { schedule: Schedule } | undefined
}

/** The clusters between which the scheduler chooses for a workload that runs nowhere. */
function schedulerChoices({ first, later }: Scheduled): (readonly string[])[] {
  return [first, ...(later ? [later] : [])].map(({ schedule }) => schedule.among).filter((choice) => choice.length > 0)
}

function addTo<K, V>(map: Map<K, V[]>, name: K, value: V): void {
  const values = map.get(name)
  if (values) values.push(value)
  else map.set(name, [value])
}

/** The clusters that matter to a binding: where it runs, where its data is, and what its narrowing names. */
function clustersAround(binding: ResourceBinding, world: World): Set<string> {
  const { spec, metadata } = binding
  const targets = targetClusters(spec)
  const places = placesOfData(binding, world)
  const names = new Set(targets)
  if (isAtHome(binding, places, world)) return names
  for (const clusters of places) for (const name of clusters) names.add(name)
  if (places.length > 0 || hasOurAnnotations(metadata.annotations)) {
    for (const { clusterNames = [] } of affinityTerms(effectiveAffinity(spec.placement), isWorkload(spec)))
      for (const name of clusterNames) names.add(name)
  }
  return names
}

/** The clusters of each claim and each volume of a workload; none for one without a known location. */
function placesOfData(binding: ResourceBinding, { store, scope }: World): (readonly string[])[] {
  const claims = claimsFor(binding.spec.resource, store, scope)
  const volumes = locateVolumes(binding, store)
  return [
    ...claims.map((claim) => claimSource(claim, store)?.spec.locality?.clusterNames ?? []),
    ...volumes.map(({ answer }) => (answer.kind === 'located' ? answer.clusters : [])),
  ]
}

/**
 * Whether a workload runs where all of its data is, and the scheduler has nothing left to do. If another cluster gets worse, it stays.
 */
function isAtHome(binding: ResourceBinding, places: (readonly string[])[], { fleet }: World): boolean {
  const { spec } = binding
  if (places.length === 0 || countsClusters(spec)) return false
  if (isSuspended(spec) || schedulingFailure(binding) !== undefined || !isScheduled(spec, fleet)) return false
  const targets = targetClusters(spec)
  return places.every((clusters) => targets.every((name) => clusters.includes(name)))
}

/**
 * Whether a cluster only got taints, or is gone. Then no workload can go there that could not go there before, so only those matter that run
 * there, or have their data there.
 */
function isOnlyWorse({ before, after }: StoreChange): boolean {
  if (!after) return true
  if (!before) return false
  const [was, is] = [before as Cluster, after as Cluster]
  const rest = ({ spec, status, metadata }: Cluster) => [without(spec ?? {}, 'taints'), status, metadata.labels]
  const taints = is.spec?.taints ?? []
  return (
    jsonEqual(rest(was), rest(is)) &&
    (was.spec?.taints ?? []).every((taint) => taints.some((other) => jsonEqual(taint, other)))
  )
}

/** The keys of the bindings that a change of claims, sources, namespaces or volumes concerns. */
function concernedByData(change: StoreChange, store: ObjectStore): string[] {
  const objects = [change.before, change.after].filter((object) => object !== undefined)
  const claims =
    change.type === dataSourceClaims
      ? (objects as DataSourceClaim[])
      : change.type === dataSources
        ? objects.flatMap((source) => claimsOfSource(source as DataSource, store))
        : [...claimsRegranted(change, store)]
  const bindings = [...claims.flatMap((claim) => bindingsOfClaim(claim, store)), ...bindingsByVolume(change, store)]
  return bindings.map(keyOfObject)
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
  for (const type of [resourceBindings, clusterResourceBindings]) {
    for (const { spec } of store.list(type)) {
      for (const { namespace, name } of spec.requiredBy ?? []) {
        const key = objectKey(namespace, name)
        counts.set(key, (counts.get(key) ?? 0) + 1)
      }
    }
  }
  return counts
}
