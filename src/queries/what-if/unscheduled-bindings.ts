/** The workloads that Karmada's scheduler tries to place: which of them a loss of clusters may concern. */
import type { BindingSpec, Cluster, ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject } from '../../api/meta.ts'
import { addTo } from '../../base/multimap.ts'
import { hasNoFit, hasTarget, isPlaced, isScaledToZero, isSuspended } from '../../core/placement/binding-state.ts'
import { hasOurAnnotations, readDecision } from '../../core/resource-binding/annotations.ts'
import type { Group } from '../../core/what-if/fleet.ts'
import { isScheduled } from '../../core/what-if/schedule.ts'
import { clustersAround, countsClusters, type WorkloadData } from './clusters-around.ts'
import { type PresentOutcomes, rememberOutcomes, schedulerChoices } from './present.ts'
import { predictOutcome, type World } from './world.ts'

/** Which of the losses that may concern a workload `concernedBy` finds: all, those of further clusters for it, or none. */
type Coverage = 'all' | 'furtherClusters' | 'none'

/**
 * The workloads that the scheduler still tries to place, and those that it tries to place after the next decision. Each cluster of its placement
 * may matter to such a workload. Any other workload on hold depends on the clusters of its data only.
 */
export class UnscheduledBindings {
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

  /** Adds a workload if the scheduler tries to place it now, or after the next decision, which frees it of its data. */
  add(key: string, binding: ResourceBinding, data: WorkloadData): Coverage {
    const { spec } = binding
    const isWaiting = isOnHold(spec)
    const isTried = !isWaiting && !isEmpty(spec) && !isScheduled(binding, this.#world.fleet)
    const isFreed = isToBeFreed(binding, data)
    if (!isTried && !isFreed) return 'none'
    const isOther = hasTarget(spec) || (isSuspended(spec) && !isWaiting) || hasNoFit(binding) || countsClusters(spec)
    if (isOther) {
      if (isTried) this.#addByGroups(key, this.#groupsTried(binding), this.#fewestLosses(binding, data))
      // The last clusters of a smaller choice are among those around the workload.
      if (isFreed) this.#addByGroups(key, this.#groupsToCome(binding), Math.max(2, this.#allButOne(binding)))
      return 'furtherClusters'
    }
    for (const choice of schedulerChoices(predictOutcome(binding, this.#world, { isQueued: false }))) {
      const [first = ''] = choice
      const choices = this.#byChoice.get(first) ?? new Map<readonly string[], string[]>()
      this.#byChoice.set(first, choices)
      addTo(choices, choice, key)
    }
    // The data of a workload on hold may end its hold.
    return isWaiting ? 'furtherClusters' : 'all'
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

/** Whether the workload has no replicas, and needs no cluster. */
function isEmpty(spec: BindingSpec): boolean {
  return !hasTarget(spec) && isScaledToZero(spec)
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
