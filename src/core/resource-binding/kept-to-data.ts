/** Whether a narrowed placement keeps to the data of its workload. */
import type { ResourceBinding } from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import { cut } from '../outcome.ts'
import { affinityTerms, effectiveAffinity } from '../placement/affinity.ts'
import { targetClusters } from '../placement/binding-state.ts'
import { readDecision } from './annotations.ts'

/**
 * Whether a placement allows clusters outside of the data to which Lodestone has narrowed it. After an admission it never does. The policy
 * `lodestone-decided-bindings` (webhooks/absence.ts) states the same in CEL.
 */
export function allowsMoreThanData({ metadata, spec }: Pick<ResourceBinding, 'metadata' | 'spec'>): boolean {
  const data = narrowedClusters(metadata)
  if (!data) return false
  const terms = affinityTerms(effectiveAffinity(spec.placement), true)
  return terms.some(
    ({ clusterNames = [] }) => clusterNames.length === 0 || clusterNames.some((name) => !data.has(name)),
  )
}

/** Returns the clusters with the data to which a placement is narrowed; undefined if it is not, or if they are too many to list. */
export function narrowedClusters({ annotations }: ObjectMeta): ReadonlySet<string> | undefined {
  const { locality } = readDecision(annotations)
  return locality?.required?.length && locality.state !== 'Relaxed' ? new Set(locality.required) : undefined
}

/** The message of the Event if a placement is narrowed again that was changed without an admission; undefined if it was not. */
export function narrowedAgain(stored: ResourceBinding, decided: ResourceBinding): string | undefined {
  if (!allowsMoreThanData(stored) || allowsMoreThanData(decided)) return undefined
  const clusters = targetClusters(stored.spec)
  const where = clusters.length > 0 ? `, and its workload was scheduled to ${clusters.sort().join(', ')}` : ''
  const { locality } = readDecision(decided.metadata.annotations)
  const now = locality ? `; now ${locality.message}` : ''
  return cut(`the placement was changed while Lodestone was not available${where}${now}`, 1024)
}
