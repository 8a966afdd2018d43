/** The condition `HoldNotHonored` of a claim: its workload was scheduled on hold, and is not with its data yet. */
import { type DataSourceClaim, dataSourceClaims } from '../../api/data-source-claim.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import type { Condition } from '../../api/meta.ts'
import { condition, withConditions } from '../../base/conditions.ts'
import { jsonEqual } from '../../base/json.ts'
import type { Answer } from '../data-source/locate.ts'
import { type Action, statusPatchOf } from '../plan.ts'
import { activeHold, type NotHonored } from './hold-not-honored.ts'

const TYPE = 'HoldNotHonored'

/** Plans the condition of a claim whose workload was scheduled on hold; no write if the claim has it already. */
export function planHoldCondition(claim: DataSourceClaim, { result, message }: NotHonored, now: number): Action[] {
  // A write would make the API server forget the fields that it drops.
  if (claim.dropped) return []
  const reason = result === 'restored' ? 'Restored' : 'Scheduled'
  const before = claim.status?.conditions
  const conditions = withConditions(before, [condition(TYPE, true, reason, message)], claim.metadata.generation, now)
  return jsonEqual(conditions, before) ? [] : [statusPatchOf(dataSourceClaims, claim, { conditions })]
}

/** Removes the condition when each binding of the workload is scheduled to clusters that have the data of the claim. */
export function withoutPastHold(
  conditions: readonly Condition[] | undefined,
  bindings: readonly ResourceBinding[],
  answer: Answer,
): readonly Condition[] | undefined {
  if (!conditions || !bindings.every((binding) => isWithData(binding, answer))) return conditions
  return conditions.filter(({ type }) => type !== TYPE)
}

function isWithData(binding: ResourceBinding, answer: Answer): boolean {
  const { clusters = [] } = binding.spec
  if (answer.kind !== 'located' || clusters.length === 0 || activeHold(binding)) return false
  return clusters.every(({ name }) => answer.clusters.includes(name))
}
