/** What a write shows about who sent it: Karmada's detector sends the placement of the policy, and every other writer the stored one. */
import type { ResourceBinding } from '../../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../../api/lodestone.ts'
import { jsonEqual } from '../../../base/json.ts'
import { effectiveAffinity, withAffinity } from '../../placement/affinity.ts'
import type { ParsedInput } from '../parse-input.ts'

/** Whether the detector may have sent a write: its affinity is that of the policy, and the annotations of Lodestone are the stored ones. */
export function isOfDetector({ binding, stored, policy, annotations, storedAnnotations }: ParsedInput): boolean {
  const incoming = effectiveAffinity(binding.spec.placement)
  const isKept =
    stored !== undefined &&
    localityText(binding) === localityText(stored) &&
    jsonEqual(annotations.base, storedAnnotations.base)
  return isKept && policy !== undefined && jsonEqual(incoming, effectiveAffinity(policy.placement))
}

/**
 * Whether the detector applies a lazy policy in this write. Its affinity can equal the narrowed one. The detector then changes the reference to the
 * workload, which no other writer does (v1.18.1, pkg/detector/detector.go, ApplyPolicy). Also true for our answer to such a write, which the API server
 * may send again.
 */
export function appliesLazyPolicy(input: ParsedInput): boolean {
  const { binding, stored, policy, annotations, storedAnnotations } = input
  if (!policy?.lazy || !stored) return false
  const [sent, before] = [binding, stored].map(({ spec }) => effectiveAffinity(spec.placement))
  if (jsonEqual(sent, before) && jsonEqual(binding.spec.resource, stored.spec.resource)) return false
  const isAnswer = annotations.base !== undefined && !jsonEqual(annotations.base, storedAnnotations.base)
  return isAnswer ? jsonEqual(annotations.base, effectiveAffinity(policy.placement)) : isOfDetector(input)
}

/**
 * Whether a write brings a placement with a change of the workload, as only the detector does. This replica may have an older policy than the
 * detector. No later write would bring the placement again.
 */
export function bringsUnknownPlacement({ binding, stored }: ParsedInput): boolean {
  if (!stored || jsonEqual(binding.spec.resource, stored.spec.resource)) return false
  return !jsonEqual(effectiveAffinity(binding.spec.placement), effectiveAffinity(stored.spec.placement))
}

/** Whether a write changes the labels, or the placement outside of the affinity, as the detector does for another policy. The loop never does. */
export function changesOtherFields(binding: ResourceBinding, stored: ResourceBinding): boolean {
  const affinity = effectiveAffinity(stored.spec.placement)
  const [sent, before] = [binding, stored].map(({ spec }) => withAffinity(spec.placement ?? {}, affinity))
  return !jsonEqual(sent, before) || !jsonEqual(binding.metadata.labels, stored.metadata.labels)
}

export function localityText(binding: ResourceBinding | undefined): string | undefined {
  return binding?.metadata.annotations?.[LOCALITY_ANNOTATION]
}
