/** Rejects a choice of the scheduler that takes a workload out of all clusters, although it may stay where it runs. */
import { APPLIED_PLACEMENT_ANNOTATION, type PlacementAffinity, type ResourceBinding } from '../../api/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { jsonEqual } from '../../base/json.ts'
import { cut } from '../outcome.ts'
import { schedulingRefusal } from '../placement/acceptance.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { hasTarget, isScaledToZero, occupiedClusters, targetClusters } from '../placement/binding-state.ts'
import { placementFilter } from '../placement/placement-filter.ts'
import { parseAnnotation } from './annotations.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'
import { narrowedClusters } from './kept-to-data.ts'
import { type ParsedInput, parseInput } from './parse-input.ts'

/**
 * Returns an error if the scheduler found no cluster for a running workload, and its next placement allows it to stay where it runs. That is the
 * placement of the decision on it, or the base of a workload that has not moved to its data yet.
 *
 * Such a workload runs elsewhere until the clusters with the data take it. If these refuse it, for instance by a taint, the scheduler removes the
 * workload from all clusters (v1.18.1, pkg/scheduler/scheduler.go, scheduleResourceBindingWithClusterAffinity). It may see the changed Cluster
 * before Lodestone does, or have a filter that Lodestone does not know. Its choice may also be from a placement before the last one, since it sends
 * no resourceVersion. It retries after the error, so the workload moves when it can.
 */
export function lostClusterErrors(input: BindingInput): FieldError[] {
  const { binding, stored } = input
  if (!stored || !hasTarget(stored.spec) || hasTarget(binding.spec) || !isChoice(binding, stored)) return []
  // Without replicas, it is in no cluster.
  if (isScaledToZero(binding.spec)) return []
  const running = { ...input, binding: stored }
  const decided = decideBinding(running)
  if (decided.state === 'Untouched') return []
  const parsed = parseInput(running)
  const next = effectiveAffinity(decided.binding.spec.placement)
  const isDecided = !jsonEqual(next, effectiveAffinity(stored.spec.placement))
  const affinity = isDecided || isOutdated(binding) ? next : baseOfMove(parsed, stored)
  if (!affinity || !mayStay(parsed, affinity)) return []
  const why = isDecided ? decided.message : 'no cluster of the placement that was tried takes the workload'
  const message = cut(`would be empty, and the workload may stay where it runs: ${why}; choose again`, MAX_LENGTH)
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

const MAX_LENGTH = 512

/** The base of a workload that is narrowed and runs in none of these clusters yet; undefined for another one. */
function baseOfMove({ storedAnnotations }: ParsedInput, stored: ResourceBinding): PlacementAffinity | undefined {
  const data = narrowedClusters(stored.metadata)
  const isMoving = data !== undefined && !targetClusters(stored.spec).some((name) => data.has(name))
  return isMoving ? storedAnnotations.base : undefined
}

/** Whether the affinity and the scheduler accept one of the clusters in which a workload runs. */
function mayStay({ binding, clusters, usesOverflow, rules }: ParsedInput, affinity: PlacementAffinity): boolean {
  const refuses = schedulingRefusal(binding.spec, clusters)
  const { allows } = placementFilter(affinity, clusters, usesOverflow, rules)
  return occupiedClusters(binding.spec).some((name) => allows(name) && refuses(name) === undefined)
}

/** Whether a write is a choice of the scheduler: it records a placement, and changes nothing else of the spec. An eviction records none. */
function isChoice({ metadata, spec }: ResourceBinding, stored: ResourceBinding): boolean {
  const applied = metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]
  if (applied === undefined || applied === stored.metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]) return false
  return jsonEqual({ ...spec, clusters: [] }, { ...stored.spec, clusters: [] })
}

/** Whether a choice is from another placement than the present one. */
function isOutdated({ metadata, spec }: ResourceBinding): boolean {
  const applied = metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION] ?? ''
  return !jsonEqual(parseAnnotation(applied), spec.placement)
}
