/** Gathers what becomes of bindings in a world: the present one, or a supposed one that overlays it. */

import { type Cluster, clusters, type ResourceBinding } from '../../api/karmada.ts'
import { type K8sObject, keyOfObject } from '../../api/meta.ts'
import { defined, jsonEqual, without } from '../../base/json.ts'
import type { KarmadaRules } from '../../core/karmada-rules.ts'
import type { DecisionSettings } from '../../core/resource-binding/decision-settings.ts'
import type { BindingInput } from '../../core/resource-binding/input.ts'
import { evict, findEviction } from '../../core/what-if/evict.ts'
import { compileFleet, type Fleet, worsenFleet } from '../../core/what-if/fleet.ts'
import { isAffectedBy } from '../../core/what-if/schedule.ts'
import { type Settled, type SettleInput, settle } from '../../core/what-if/settle.ts'
import { kindKey } from '../../store/any-kind.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { gatherBindingInput } from '../binding.ts'
import { claimsFor } from '../permission.ts'
import { claimSource } from '../source.ts'
import { allBindings } from '../workload.ts'

/** By which settings and rules decisions are predicted, and for which time. */
export interface WorldSettings extends DecisionSettings {
  /** In ms since the epoch. */
  now: number
  karmadaRules: KarmadaRules
}

/** The objects of a hub, with its clusters compiled once. */
export interface World extends WorldSettings {
  store: ObjectStore
  fleet: Fleet
  /** The changes that make it differ from the present world; none for the present one. */
  changes: readonly StoreChange[]
  /** The keys of the bindings whose workloads are written: then a lazy policy applies. With the replicas of their manifests, if these have some. */
  written: ReadonlyMap<string, number | undefined>
  /** The names of the clusters whose change is an event for the scheduler. */
  changedClusters: readonly string[]
  /**
   * The clusters that changed, by name, if each of them only got taints or is being deleted. Then no workload can go there that could not go there
   * before. Undefined if a cluster changed in another way.
   */
  worse: ReadonlyMap<string, Cluster> | undefined
}

const NONE: World['written'] = new Map()

/** Returns the present world. */
export function openWorld(store: ObjectStore, settings: WorldSettings): World {
  const fleet = compileFleet(store.list(clusters), settings.karmadaRules)
  return { ...settings, store, fleet, changes: [], written: NONE, changedClusters: [], worse: new Map() }
}

/** A supposed state of the hub: a store that overlays the present one with some changes. */
export interface Question {
  store: ObjectStore
  changes: readonly StoreChange[]
  /** The keys of the bindings whose workloads a user writes, with the replicas of their manifests. Default: none. */
  written?: World['written']
}

/** Returns the world of a question. */
export function supposeWorld(present: World, { store, changes: steps, written = NONE }: Question): World {
  const changes = netChanges(steps)
  const changed = changes.filter(({ type }) => type === clusters)
  const worse = changed.every(isOnlyWorse)
    ? new Map(changed.map(({ after }) => [after?.metadata.name ?? '', after as Cluster]))
    : undefined
  const fleet = worse ? worsenFleet(present.fleet, worse) : compileFleet(store.list(clusters), present.karmadaRules)
  const changedClusters = changed
    .filter(isSpecChanged)
    .map(({ before, after }) => (after ?? before)?.metadata.name ?? '')
  return { ...present, store, fleet, changes, written, changedClusters, worse }
}

/** Returns one change for each object: several suppositions may change the same one, as two files with one policy do. */
function netChanges(steps: readonly StoreChange[]): StoreChange[] {
  const net = new Map<string, StoreChange>()
  for (const { type, before, after } of steps) {
    const object = after ?? before
    const key = `${kindKey(type)}/${object ? keyOfObject(object) : ''}`
    const first = net.get(key)
    net.set(key, defined({ type, before: first ? first.before : before, after }))
  }
  return [...net.values()].filter(({ before, after }) => before !== undefined || after !== undefined)
}

/** The data of a workload: a source, and its size if that is known. */
export interface LocatedData {
  source: string
  bytes: number | undefined
}

export interface BindingOutcome extends Settled {
  /** After how many seconds Karmada has evicted the workload: 0 without an eviction. */
  evictedAfterSeconds: number
}

interface OutcomeOptions {
  /** Whether the scheduler looks at the binding again, although nothing else writes it. */
  isQueued: boolean
  /** The binding as Karmada's detector writes it, if its policy changed. */
  detected?: ResourceBinding | undefined
}

/** Returns the outcome of a binding in a world. */
export function predictOutcome(
  stored: ResourceBinding,
  world: World,
  { isQueued, detected = stored }: OutcomeOptions,
): BindingOutcome {
  const eviction = findEviction(detected, world.fleet)
  const written = eviction ? evict(detected, eviction.from) : detected
  const settled = settle({ ...gatherSettleInput(written, stored, world), isQueued })
  return { ...settled, evictedAfterSeconds: eviction?.afterSeconds ?? 0 }
}

/** Gathers what a prediction reads, for a binding as Karmada writes it. */
export function gatherSettleInput(
  written: ResourceBinding,
  stored: ResourceBinding,
  world: World,
): Omit<SettleInput, 'isQueued'> {
  const { fleet } = world
  return { ...gatherDecisionInput(written, stored, world), clusters: fleet.clusters, fleet }
}

/** Gathers what the decision on a binding reads in a world. */
export function gatherDecisionInput(written: ResourceBinding, stored: ResourceBinding, world: World): BindingInput {
  return gatherBindingInput(written, stored, world)
}

/** Whether a cluster changed, and the scheduler looks at a binding again. */
export function isQueuedIn(binding: ResourceBinding, { changedClusters, fleet }: World): boolean {
  return changedClusters.some((name) => isAffectedBy(name, binding, fleet))
}

/** Whether a cluster only got taints, or is being deleted. */
function isOnlyWorse({ before, after }: StoreChange): boolean {
  if (!before || !after) return false
  const [was, is] = [before as Cluster, after as Cluster]
  const rest = ({ spec, status, metadata }: Cluster) => [without(spec ?? {}, 'taints'), status, metadata.labels]
  const taints = is.spec?.taints ?? []
  return (
    jsonEqual(rest(was), rest(is)) &&
    (was.spec?.taints ?? []).every((taint) => taints.some((other) => jsonEqual(taint, other))) &&
    (was.metadata.deletionTimestamp === undefined || is.metadata.deletionTimestamp !== undefined)
  )
}

/** Whether a cluster got another spec or other labels, or was added, removed or marked for deletion. */
function isSpecChanged({ before, after }: StoreChange): boolean {
  const compared = (cluster: K8sObject | undefined) =>
    cluster && [(cluster as Cluster).spec, cluster.metadata.labels, cluster.metadata.deletionTimestamp]
  return !jsonEqual(compared(before), compared(after))
}

/** Returns the data of a workload whose location is known, by the names of the sources. */
export function dataOfBinding({ spec }: ResourceBinding, { store, clusterScopedClaims }: World): LocatedData[] {
  return claimsFor(spec.resource, store, clusterScopedClaims).flatMap((claim) => {
    const source = claimSource(claim, store)
    return source ? [{ source: source.metadata.name ?? '', bytes: source.spec.locality?.bytes }] : []
  })
}

/** All bindings of workloads. */
export function* placedBindings(store: ObjectStore): Generator<ResourceBinding, void, undefined> {
  for (const binding of allBindings(store)) if (isOfWorkload(binding)) yield binding
}

/** Whether a binding has a placement: then it is that of a workload, and not that of a dependency. One that is being deleted has none. */
export function isOfWorkload({ metadata, spec }: ResourceBinding): boolean {
  return spec.placement !== undefined && !metadata.deletionTimestamp
}
