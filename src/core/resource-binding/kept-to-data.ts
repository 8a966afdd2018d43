/** Whether a narrowed workload keeps to its data: in its placement, and in the clusters that the scheduler chose. */
import type { ResourceBinding } from '../../api/karmada.ts'
import type { ObjectMeta } from '../../api/meta.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { listNames } from '../../base/names.ts'
import { cut } from '../outcome.ts'
import { affinityTerms, effectiveAffinity } from '../placement/affinity.ts'
import { hasTarget, targetClusters } from '../placement/binding-state.ts'
import { readAnnotations } from './annotations.ts'
import type { BindingInput } from './input.ts'

/**
 * Whether a placement allows clusters outside of the data to which Lodestone has narrowed it. After an admission it never does. The policy
 * `lodestone-decided-bindings` (webhooks/absence.ts) states the same in CEL.
 */
export function allowsMoreThanData({ metadata, spec }: Pick<ResourceBinding, 'metadata' | 'spec'>): boolean {
  const data = dataOf(metadata)
  if (!data) return false
  const terms = affinityTerms(effectiveAffinity(spec.placement), true)
  return terms.some(
    ({ clusterNames = [] }) => clusterNames.length === 0 || clusterNames.some((name) => !data.has(name)),
  )
}

/**
 * Returns an error if a write schedules a workload for the first time, and to clusters outside of its data. Karmada's scheduler sends its
 * choice as a patch without a resourceVersion (v1.18.1, pkg/scheduler/scheduler.go, patchScheduleResultForResourceBinding). So a choice from the
 * placement before a narrowing would be written over it. The scheduler retries with the present placement.
 */
export function scheduledOutsideData({ binding, stored }: Pick<BindingInput, 'binding' | 'stored'>): FieldError[] {
  const isFirst = stored !== undefined && !hasTarget(stored.spec) && hasTarget(binding.spec)
  const data = isFirst ? dataOf(stored.metadata) : undefined
  if (!data) return []
  const outside = targetClusters(binding.spec).filter((name) => !data.has(name))
  if (outside.length === 0) return []
  const message = `the data of the workload is in ${listNames(data, SHOWN)}, and not in ${listNames(outside, SHOWN)}; choose again from the present placement`
  return [{ path: 'spec.clusters', code: 'Forbidden', message }]
}

const SHOWN = 5

/** The clusters with the data to which a placement is narrowed; undefined if it is not, or if they are too many to list. */
function dataOf({ annotations }: ObjectMeta): ReadonlySet<string> | undefined {
  const { locality } = readAnnotations(annotations)
  return locality?.required?.length && locality.state !== 'Relaxed' ? new Set(locality.required) : undefined
}

/** The message of the Event if a placement is narrowed again that was changed without an admission; undefined if it was not. */
export function narrowedAgain(stored: ResourceBinding, decided: ResourceBinding): string | undefined {
  if (!allowsMoreThanData(stored) || allowsMoreThanData(decided)) return undefined
  const clusters = targetClusters(stored.spec)
  const where = clusters.length > 0 ? `, and its workload was scheduled to ${clusters.sort().join(', ')}` : ''
  const { locality } = readAnnotations(decided.metadata.annotations)
  const now = locality ? `; now ${locality.message}` : ''
  return cut(`the placement was changed while Lodestone was not available${where}${now}`, 1024)
}
