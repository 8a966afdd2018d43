/** Decides on a binding whose object was deleted without it, as by `kubectl delete --cascade=orphan`: its workload stays where it runs. */
import type { PlacementAffinity, ResourceBinding } from '../../../api/karmada.ts'
import { jsonEqual } from '../../../base/json.ts'
import { cut } from '../../outcome.ts'
import { effectiveAffinity } from '../../placement/affinity.ts'
import { occupiedClusters } from '../../placement/binding-state.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import { MAX_MESSAGE_LENGTH } from '../hold-cause.ts'
import type { ParsedInput } from '../parse-input.ts'
import { keptInBase, type PlacementDecision } from '../placement-decision.ts'
import { policyReferenceOf } from '../policy.ts'

/**
 * Whether the object of a binding was deleted without the binding. Then the garbage collector removes the owner that Karmada's detector gives to
 * each binding of a policy. A binding without a uid is not stored.
 *
 * @param binding the whole binding of the API server: owners are not cached
 */
export function isOrphaned({ metadata }: ResourceBinding): boolean {
  const isOwned = metadata.ownerReferences?.some(({ controller }) => controller) ?? false
  return metadata.uid !== undefined && policyReferenceOf(metadata) !== undefined && !isOwned
}

/**
 * Keeps the placement of an orphaned workload that runs. Karmada would remove it from its clusters, and cannot create it in other ones without the
 * object (pkg/controllers/binding/binding_controller.go: syncBinding). Karmada does not apply a change of the policy to it either. So a write with
 * another affinity is not from Karmada, and is decided as any other: a missing owner must not widen a placement. The API server may send the answer
 * to it again, as a write of the decided affinity. So the rule also applies to the stored affinity if it was decided.
 *
 * @param affinity that of the write, or the decided one
 * @returns undefined if the rule does not apply
 */
export function decideOrphaned(input: ParsedInput, affinity: PlacementAffinity): PlacementDecision | undefined {
  const { binding, stored, claims, annotations, storedAnnotations } = input
  if (!input.isOrphaned || occupiedClusters(binding.spec).length === 0) return undefined
  if (!stored || !jsonEqual(affinity, effectiveAffinity(stored.spec.placement))) return undefined
  const { kind, name } = binding.spec.resource
  const message = `${kind} ${name} was deleted without its binding, so Karmada cannot create it in other clusters; create it again, or delete the binding`
  const { locality: last = annotations.locality, base = annotations.base ?? affinity } = storedAnnotations
  if (!last) return keptInBase(input, affinity, message)
  // It waits for nothing.
  const { since: _since, ...rest } = last
  const locality: LocalityAnnotation = {
    ...rest,
    state: last.state === 'Relaxed' ? 'Relaxed' : 'Kept',
    message: cut(message, MAX_MESSAGE_LENGTH),
    claims: claims.map(({ claim }) => claim),
  }
  return { state: locality.state, affinity, annotations: { base, locality }, message }
}
