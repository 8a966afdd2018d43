/**
 * Holds that were not honored: the workload was scheduled by a write that admission did not see. Karmada 1.13.0 to 1.13.2 schedules
 * suspended bindings after a change of a cluster (karmada#6354), and a write passes while Lodestone is not available.
 */
import type { ResourceBinding } from '../../api/karmada.ts'
import { evictedClusters, hasTarget, isSuspended } from '../placement/binding-state.ts'
import { type HoldAnnotation, readDecision } from './annotations.ts'

/** The report of a hold that was not honored. */
export interface NotHonored {
  /** `restored`: the clusters are removed again. `scheduled`: the hold ends, since the workload runs, or since the hold is over. */
  result: 'restored' | 'scheduled'
  message: string
  /** The id of the hold. */
  decisionId: string
}

/** Returns the hold of a binding that is suspended by Lodestone and scheduled; undefined if it is not both. */
export function holdNotHonored({ metadata, spec }: ResourceBinding): HoldAnnotation | undefined {
  const isScheduled = hasTarget(spec) && evictedClusters(spec).size === 0
  return isScheduled ? activeHold({ metadata, spec }) : undefined
}

/** Returns the hold of a binding that is suspended by Lodestone; undefined if there is none. */
export function activeHold({ metadata, spec }: Pick<ResourceBinding, 'metadata' | 'spec'>): HoldAnnotation | undefined {
  if (!isSuspended(spec)) return undefined
  const { hold } = readDecision(metadata.annotations)
  return hold?.released ? undefined : hold
}

/** Returns the clusters whose agents have applied the workload, or have reported its status. */
export function clustersThatRun({ status }: ResourceBinding): string[] {
  return (status?.aggregatedStatus ?? []).flatMap((item) =>
    item.applied || item.status !== undefined ? [item.clusterName] : [],
  )
}

/** Returns the binding as it was before Karmada scheduled it. */
export function withoutClusters(binding: ResourceBinding): ResourceBinding {
  const { clusters: _scheduled, ...spec } = binding.spec
  return { ...binding, spec }
}
