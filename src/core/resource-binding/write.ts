/** Writes a decision into a binding: the affinity, the suspension and our annotations. */
import type { Placement, PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { defined, jsonEqual } from '../../base/json.ts'
import { fitsIntoBytes } from '../admission/object-size.ts'
import { effectiveAffinity, withAffinity } from '../placement/affinity.ts'
import { isSuspended, withoutScheduling } from '../placement/binding-state.ts'
import { fitAnnotations, shortLocality } from './annotation-size.ts'
import { type BindingAnnotations, type DecidedAnnotations, writeTexts } from './annotations.ts'
import type { ParsedInput } from './parse-input.ts'
import type { PlacementDecision } from './placement-decision.ts'

/** A binding with a decision. */
export interface WrittenDecision {
  /** The same object as before if nothing changes. */
  binding: ResourceBinding
  /** Our annotations on it, as they are read from their texts. */
  decided: DecidedAnnotations
}

/**
 * Writes a decision into the binding.
 *
 * @returns undefined if the binding has no space for our annotations or the affinity
 */
export function writeDecision(
  input: ParsedInput,
  placement: Placement,
  decision: PlacementDecision,
): WrittenDecision | undefined {
  const { binding, policy } = input
  const { affinity, annotations } = decision
  const suspension = suspend(input, annotations)
  const isSame =
    jsonEqual(affinity, effectiveAffinity(placement)) && !(placement.clusterAffinity && placement.clusterAffinities)
  const wanted = isSame ? placement : withAffinity(placement, affinity)
  const { annotations: before } = binding.metadata
  const { locality, hold } = suspension.annotations
  const decided = defined({ locality: locality && shortLocality(locality), hold })
  const texts = fitAnnotations(
    { ...suspension.annotations, ...decided },
    {
      annotations: before,
      sentBase: input.annotations.base,
      placement: wanted,
      policy: policy && effectiveAffinity(policy.placement),
    },
  )
  if (!texts) return undefined
  const written = writeTexts(before, texts)
  if (isSame && suspension.value === binding.spec.suspension && written === before) {
    return { binding, decided }
  }
  const metadata = { ...binding.metadata }
  if (written) metadata.annotations = written
  else delete metadata.annotations
  const spec = { ...binding.spec, placement: wanted }
  if (suspension.value) spec.suspension = suspension.value
  else delete spec.suspension
  const changed = { ...binding, metadata, spec }
  return !isSame && hasManyNames(affinity) && !fitsIntoBytes(changed) ? undefined : { binding: changed, decided }
}

/** Narrowing adds the names of clusters. Fewer names are not measured: they have about 256 KiB. */
const FEW_NAMES = 5000

function hasManyNames({ clusterAffinity, clusterAffinities = [] }: PlacementAffinity): boolean {
  const terms = clusterAffinity ? [clusterAffinity, ...clusterAffinities] : clusterAffinities
  return terms.reduce((sum, { clusterNames = [] }) => sum + clusterNames.length, 0) > FEW_NAMES
}

/**
 * Sets or removes `suspension.scheduling` and keeps the other fields of the suspension. A suspension without our hold annotation belongs to
 * another writer: Lodestone does not remove it and adds no annotation.
 */
function suspend(
  input: ParsedInput,
  annotations: BindingAnnotations,
): { value: ResourceBinding['spec']['suspension']; annotations: BindingAnnotations } {
  const { suspension } = input.binding.spec
  const wanted = annotations.hold !== undefined && !annotations.hold.released
  const ours = [input.storedAnnotations, input.annotations].some(({ hold }) => hold !== undefined && !hold.released)
  if (isSuspended(input.binding.spec) && !ours) {
    const { hold: _notOurs, ...rest } = annotations
    return { value: suspension, annotations: wanted ? rest : annotations }
  }
  if (wanted === isSuspended(input.binding.spec)) return { value: suspension, annotations }
  if (wanted) return { value: { ...suspension, scheduling: true }, annotations }
  return { value: withoutScheduling(suspension), annotations }
}
