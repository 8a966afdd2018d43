/** The defaults of a placement that Karmada stores. A manifest that was not applied yet lacks them. */
import type { Placement, ReplicaScheduling, SpreadConstraint } from '../../api/karmada.ts'
import { defined, jsonEqual } from '../../base/json.ts'

/**
 * Returns a placement as Karmada stores it: with the default of its CRD, and those of its webhook (v1.18.1, pkg/webhook/propagationpolicy/mutating.go).
 * Returns the same object if it has all of them.
 */
export function withPlacementDefaults(placement: Placement): Placement {
  const { spreadConstraints, replicaScheduling } = placement
  const complete = defined({
    ...placement,
    spreadConstraints: spreadConstraints?.map(completeConstraint),
    replicaScheduling: replicaScheduling && completeScheduling(replicaScheduling),
  })
  return jsonEqual(complete, placement) ? placement : complete
}

function completeConstraint(constraint: SpreadConstraint): SpreadConstraint {
  const { spreadByField, spreadByLabel, minGroups } = constraint
  return {
    ...constraint,
    ...(!spreadByField && !spreadByLabel && { spreadByField: 'cluster' }),
    minGroups: minGroups || 1,
  }
}

function completeScheduling(scheduling: ReplicaScheduling): ReplicaScheduling {
  const { replicaSchedulingType = 'Divided', replicaDivisionPreference } = scheduling
  const preference = replicaDivisionPreference || (replicaSchedulingType === 'Divided' ? 'Weighted' : undefined)
  return { ...scheduling, replicaSchedulingType, ...(preference && { replicaDivisionPreference: preference }) }
}
