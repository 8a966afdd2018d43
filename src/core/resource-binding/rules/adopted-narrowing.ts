/** Takes over the narrowing that volcano-global has written into a binding, so that its workload stays where it runs. */
import { sortedUnique } from '../../../base/json.ts'
import { targetClusters } from '../../placement/binding-state.ts'
import type { LocalityAnnotation } from '../annotations.ts'
import type { ParsedInput } from '../parse-input.ts'
import { excludedClusters } from '../volcano-global.ts'

/**
 * Returns the clusters that volcano-global chose for a running workload, in the form of a last narrowing. Its exclusions are in the binding
 * only, so the next write of Karmada's detector, or of `lodestone migrate`, would start the workload in the excluded clusters.
 *
 * Returns undefined if Lodestone has decided on the workload before, or if the workload does not follow the exclusions.
 */
export function adoptedNarrowing({ stored, storedAnnotations }: ParsedInput): LocalityAnnotation | undefined {
  const excluded = excludedClusters(stored?.metadata.annotations)
  const clusters = targetClusters(stored?.spec)
  if (excluded.size === 0 || clusters.length === 0 || storedAnnotations.locality) return undefined
  if (clusters.some((name) => excluded.has(name))) return undefined
  return { state: 'Kept', message: 'volcano-global chose these clusters', claims: [], required: sortedUnique(clusters) }
}
