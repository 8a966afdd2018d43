/** Rejects a choice of the scheduler that takes a running workload out of all clusters, although its next placement has one for it. */
import { APPLIED_PLACEMENT_ANNOTATION, type PlacementAffinity, type ResourceBinding } from '../../api/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { jsonEqual } from '../../base/json.ts'
import { cut } from '../outcome.ts'
import { effectiveAffinity } from '../placement/affinity.ts'
import { hasNoFitElsewhere, hasTarget, targetClusters } from '../placement/binding-state.ts'
import { parseAnnotation } from './annotations.ts'
import { decideBinding } from './decide.ts'
import type { BindingInput } from './input.ts'
import { narrowedClusters } from './kept-to-data.ts'
import { isUnfit } from './narrow-to-fit.ts'
import { type ParsedInput, parseInput } from './parse-input.ts'

/**
 * Returns an error if the scheduler found no cluster for a running workload, and its next placement has one.
 *
 * A workload whose data has moved runs elsewhere until the clusters with the data take it. If these refuse it then, for instance by a taint, the
 * scheduler removes the workload from all clusters (v1.18.1, pkg/scheduler/scheduler.go, scheduleResourceBindingWithClusterAffinity). It retries
 * after an error, and the loop gives the workload its base back meanwhile.
 *
 * The scheduler may see the changed Cluster before Lodestone does, so one empty choice is rejected although the decision stays the same. The next
 * one is accepted: the scheduler has a filter that Lodestone does not know, and its refusal is handled as such (`relaxIfRefused`).
 */
export function lostClusterErrors(input: BindingInput): FieldError[] {
  const { binding, stored } = input
  if (!stored || !hasTarget(stored.spec) || hasTarget(binding.spec) || !isChoice(binding, stored)) return []
  const running = { ...input, binding: stored }
  const decided = decideBinding(running)
  const parsed = parseInput(running)
  const present = effectiveAffinity(stored.spec.placement)
  const next = effectiveAffinity(decided.binding.spec.placement)
  const [affinity, why] = jsonEqual(next, present)
    ? [baseOfMove(parsed, stored), 'the clusters with the data refuse the workload, and it may stay where it is']
    : [next, decided.message]
  if (!affinity || isUnfit(parsed, affinity)) return []
  const message = cut(`would be empty; choose again from the next placement: ${why}`, MAX_MESSAGE_LENGTH)
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

const MAX_MESSAGE_LENGTH = 512

/** The base of a workload that is narrowed and runs in none of these clusters yet; undefined for another one, and for a repeated choice. */
function baseOfMove({ storedAnnotations }: ParsedInput, stored: ResourceBinding): PlacementAffinity | undefined {
  const data = narrowedClusters(stored.metadata)
  if (!data || hasNoFitElsewhere(stored)) return undefined
  return targetClusters(stored.spec).some((name) => data.has(name)) ? undefined : storedAnnotations.base
}

/** Whether a write is a choice of the scheduler: it records the placement, and changes nothing else of the spec. An eviction records none. */
function isChoice({ metadata, spec }: ResourceBinding, stored: ResourceBinding): boolean {
  const applied = metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]
  if (applied === undefined || applied === stored.metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]) return false
  return (
    jsonEqual(parseAnnotation(applied), spec.placement) &&
    jsonEqual({ ...spec, clusters: [] }, { ...stored.spec, clusters: [] })
  )
}
