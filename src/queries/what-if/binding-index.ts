/** An index of the bindings of a world: which of them a change may concern. It is built once for many questions. */
import { dataSources } from '../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import {
  type BindingSpec,
  type Cluster,
  isBinding,
  isPolicy,
  type PropagationPolicy,
  type ResourceBinding,
} from '../../api/karmada.ts'
import { keyOfObject, objectKey } from '../../api/meta.ts'
import type { ClaimAnswer } from '../../core/data-source/locate.ts'
import { affinityTerms, effectiveAffinity } from '../../core/placement/affinity.ts'
import {
  evictedClusters,
  hasNoFit,
  hasTarget,
  isPlaced,
  isSuspended,
  isWorkload,
  schedulingFailure,
  targetClusters,
} from '../../core/placement/binding-state.ts'
import { minClusters } from '../../core/placement/spread.ts'
import { preemptable } from '../../core/propagation-policy/preemption.ts'
import { hasOurAnnotations, readDecision } from '../../core/resource-binding/annotations.ts'
import { policyReferenceOf } from '../../core/resource-binding/policy.ts'
import { findEviction } from '../../core/what-if/evict.ts'
import type { Fleet, Group } from '../../core/what-if/fleet.ts'
import { groupsToTry } from '../../core/what-if/schedule.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { claimsFor, claimsRegranted } from '../permission.ts'
import { claimSource, claimsConcerned } from '../source.ts'
import { bindingsByVolume, locateVolumes } from '../volume-locations.ts'
import { allBindings, bindingsOfClaim, bindingsOfWorkload } from '../workload.ts'
import { type PresentOutcomes, rememberOutcomes, schedulerChoices } from './present.ts'
import { placedBindings, predictOutcome, type World } from './world.ts'

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
  const { store, fleet } = world
  const byCluster = new Map<string, string[]>()
  const aroundCluster = new Map<string, string[]>()
  const byPolicy = new Map<string, string[]>()
  const unscheduled = new UnscheduledBindings(world)
  const size = await forEachInSlices(placedBindings(store), (binding) => {
    signal?.throwIfAborted()
    const key = keyOfObject(binding)
    const { spec } = binding
    const data = dataOf(binding, world)
    const isTried = !isOnHold(spec) && !isScheduled(binding, fleet)
    const isFreed = isToBeFreed(binding, data)
    const isUnscheduled = isTried || isFreed
    const isKnown = isUnscheduled && unscheduled.add(key, binding, { data, isTried, isFreed })
    if (!isKnown) {
      const targets = targetClusters(spec)
      for (const name of targets) addTo(byCluster, name, key)
      const others = countsClusters(spec) ? byCluster : aroundCluster
      const around = clustersAround(binding, data, world)
      for (const name of isUnscheduled ? unscheduled.lastClusters(binding) : []) around.add(name)
      for (const name of around) if (!targets.includes(name)) addTo(others, name, key)
    }
    const policy = policyReferenceOf(binding.metadata)
    addTo(byPolicy, policy ? policyKey(policy) : NO_POLICY, key)
  })
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
      for (const change of changes) {
        const object = change.after ?? change.before
        if (object && isPolicy(object.kind)) {
          for (const policy of [policyKey(object.metadata), NO_POLICY]) add(byPolicy.get(policy) ?? [])
          if (change.after) add(takenOverBy(change.after as PropagationPolicy, store))
        } else if (object && isBinding(object.kind)) certain.add(keyOfObject(object))
        for (const each of [store, supposed.store]) add(concernedByData(change, each))
      }
      add(written)
      const lost = [...worse.keys()]
      for (const name of lost) add(byCluster.get(name) ?? [])
      add(unscheduled.concernedBy(worse))
      const around = new Set(lost.flatMap((name) => aroundCluster.get(name) ?? []))
      return { certain, possible: [...around].filter((key) => !certain.has(key)) }
    },
    dependenciesOf(key) {
      attached ??= countAttached(store)
      return attached.get(key) ?? 0
    },
  }
}

/** The state of a workload before its decision. */
interface Unscheduled {
  data: WorkloadData
  /** Whether the scheduler tries to place it now. */
  isTried: boolean
  /** Whether the scheduler tries to place it after the next decision, which frees it of its data. */
  isFreed: boolean
}

/**
 * The workloads that the scheduler still tries to place, and those that it tries to place after the next decision. Each cluster of its placement
 * may matter to such a workload. Any other workload on hold depends on the clusters of its data only.
 */
class UnscheduledBindings {
  readonly #world: World
  /** Those that run nowhere, by the first cluster between which the scheduler chooses, and by all of them. */
  readonly #byChoice = new Map<string, Map<readonly string[], string[]>>()
  /** The others, by the groups of their placement, and by how many clusters must be lost. Equal placements have the same groups. */
  readonly #byGroups = new Map<readonly Group[], Map<number, string[]>>()
  /** Each binding is asked about several times, and then no more. */
  readonly #outcomesOf: PresentOutcomes

  constructor(world: World) {
    this.#world = world
    this.#outcomesOf = rememberOutcomes(world, 1)
  }

  /** Returns whether `concernedBy` says all about the binding: then its data does not matter. The data of one on hold may end its hold. */
  add(key: string, binding: ResourceBinding, { data, isTried, isFreed }: Unscheduled): boolean {
    const { spec } = binding
    const isWaiting = isOnHold(spec)
    const isOther = hasTarget(spec) || (isSuspended(spec) && !isWaiting) || hasNoFit(binding) || countsClusters(spec)
    if (isOther) {
      if (isTried) this.#addByGroups(key, this.#groupsTried(binding), this.#fewestLosses(binding, data))
      // The last clusters of a smaller choice are among those around the workload.
      if (isFreed) this.#addByGroups(key, this.#groupsToCome(binding), Math.max(2, this.#allButOne(binding)))
      return false
    }
    for (const choice of schedulerChoices(predictOutcome(binding, this.#world, { isQueued: false }))) {
      const [first = ''] = choice
      const choices = this.#byChoice.get(first) ?? new Map<readonly string[], string[]>()
      this.#byChoice.set(first, choices)
      addTo(choices, choice, key)
    }
    return !isWaiting
  }

  #addByGroups(key: string, placements: Iterable<readonly Group[]>, losses: number): void {
    for (const groups of placements) {
      const byLosses = this.#byGroups.get(groups) ?? new Map<number, string[]>()
      this.#byGroups.set(groups, byLosses)
      addTo(byLosses, losses, key)
    }
  }

  /**
   * Returns how many clusters must be lost at least before the scheduler acts otherwise: all but one of its choice. The workload runs in none of
   * them. It is one if each cluster may matter. Clusters that its decision looks up are found by its data and its narrowing.
   */
  #fewestLosses(binding: ResourceBinding, data: WorkloadData): number {
    if (!hasTarget(binding.spec) || countsClusters(binding.spec)) return 1
    const { idle, queued, accepting } = this.#outcomesOf(binding)
    const around = clustersAround(binding, data, this.#world)
    const isFound = accepting?.every((name) => around.has(name)) === true
    // What comes after a choice depends on all of its clusters.
    if (!isFound || idle.later || queued.later) return 1
    return this.#allButOne(binding)
  }

  /** Returns how many clusters must be lost until a choice of the scheduler has one left, at least 1. */
  #allButOne(binding: ResourceBinding): number {
    return Math.max(1, Math.min(...this.#choicesOf(binding).map(({ length }) => length - 1)))
  }

  /** Returns the clusters of each choice that has one or no cluster to spare. The placement may allow them only after the decision. */
  lastClusters(binding: ResourceBinding): string[] {
    return this.#choicesOf(binding).flatMap((choice) => (choice.length <= 2 ? choice : []))
  }

  #choicesOf(binding: ResourceBinding): (readonly string[])[] {
    const { idle, queued } = this.#outcomesOf(binding)
    return [idle, queued].flatMap(schedulerChoices)
  }

  /** The groups of the stored placement. If clusters are counted, those of the decision too: it may end a narrowing to too few clusters. */
  #groupsTried(binding: ResourceBinding): Set<readonly Group[]> {
    const stored = this.#world.fleet.groupsOf(binding.spec)
    const [decided = stored] = countsClusters(binding.spec) ? this.#groupsToCome(binding) : []
    return new Set([stored, decided])
  }

  /** The groups of the next decision, and of that after a waiting time. */
  #groupsToCome(binding: ResourceBinding): Set<readonly Group[]> {
    const { first, later = first } = predictOutcome(binding, this.#world, { isQueued: false })
    return new Set([first, later].map(({ decision }) => this.#world.fleet.groupsOf(decision.binding.spec)))
  }

  /** Returns the keys of those that a loss of clusters may concern. A smaller choice is no effect, and no choice does not get worse. */
  *concernedBy(lost: ReadonlyMap<string, Cluster>): Generator<string, void, undefined> {
    for (const name of lost.keys()) {
      for (const [choice, keys] of this.#byChoice.get(name) ?? [])
        if (choice.every((other) => lost.has(other))) yield* keys
    }
    for (const [groups, byLosses] of this.#byGroups) {
      if (!groups.some(({ allows }) => [...lost.keys()].some(allows))) continue
      for (const [losses, keys] of byLosses) if (lost.size >= losses) yield* keys
    }
  }
}

/**
 * Whether the workload runs, and may stay in each of its clusters. If not, the scheduler tries to find another one. So it does if it begins with a
 * group without one of them, or needs further clusters.
 */
function isScheduled(binding: ResourceBinding, fleet: Fleet): boolean {
  const { spec } = binding
  const targets = targetClusters(spec)
  const [group] = groupsToTry(binding, fleet)
  const evicted = evictedClusters(spec)
  const mayStay = (name: string) => group?.allows(name) === true && !fleet.isGone(name) && !evicted.has(name)
  const isEnough = targets.length > 0 && targets.length >= minClusters(spec.placement)
  return isEnough && targets.every(mayStay) && findEviction(binding, fleet) === undefined
}

/** Whether the workload waits for its data. The hold of one that runs, or that leaves its cluster, ends with the next decision. */
function isOnHold(spec: BindingSpec): boolean {
  return isSuspended(spec) && !isPlaced(spec)
}

/**
 * Whether the decision on a workload ends its narrowing or its hold although its data stays, at once or after a waiting time. A claim or volume of
 * its last decision is gone, or its hold has a timeout.
 */
function isToBeFreed({ metadata }: ResourceBinding, { claims, volumes }: WorkloadData): boolean {
  if (!hasOurAnnotations(metadata.annotations)) return false
  const { locality, hold } = readDecision(metadata.annotations)
  const names = [...claims.map(keyOfObject), ...volumes.map(({ claim }) => claim)]
  if (names.length === 0 || locality?.claims.some((name) => !names.includes(name))) return true
  return hold !== undefined && claims.some((claim) => claim.spec.policy?.holdTimeoutSeconds !== undefined)
}

/** Whether a placement needs a number of clusters: then each cluster that it allows matters, and not only the last one. */
function countsClusters({ placement }: BindingSpec): boolean {
  return (placement?.spreadConstraints?.length ?? 0) > 0
}

function addTo<K, V>(map: Map<K, V[]>, name: K, value: V): void {
  const values = map.get(name)
  if (values) values.push(value)
  else map.set(name, [value])
}

/** The clusters that matter to a binding: where it runs, where its data is, and what its narrowing names. */
function clustersAround(binding: ResourceBinding, data: WorkloadData, world: World): Set<string> {
  const { spec, metadata } = binding
  const targets = targetClusters(spec)
  const places = placesOf(data, world)
  const names = new Set(targets)
  if (isAtHome(binding, places, world)) return names
  for (const clusters of places) for (const name of clusters) names.add(name)
  if (places.length > 0 || hasOurAnnotations(metadata.annotations)) {
    for (const { clusterNames = [] } of affinityTerms(effectiveAffinity(spec.placement), isWorkload(spec)))
      for (const name of clusterNames) names.add(name)
  }
  return names
}

/** The data of a workload in the present world. */
interface WorkloadData {
  claims: readonly DataSourceClaim[]
  volumes: readonly ClaimAnswer[]
}

function dataOf(binding: ResourceBinding, { store, scope }: World): WorkloadData {
  return { claims: claimsFor(binding.spec.resource, store, scope), volumes: locateVolumes(binding, store) }
}

/** The clusters of each claim and each volume of a workload; none for one without a known location. */
function placesOf({ claims, volumes }: WorkloadData, { store }: World): (readonly string[])[] {
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
  if (isSuspended(spec) || schedulingFailure(binding) !== undefined || !isScheduled(binding, fleet)) return false
  const targets = targetClusters(spec)
  return places.every((clusters) => targets.every((name) => clusters.includes(name)))
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
