/** Conditions of a status: one entry per type. The transition time changes only when the condition's status changes. */
import type { Condition } from '../api/meta.ts'
import { defined } from './json.ts'

export type ConditionState = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** Returns the state of a condition. `holds`: its status is True, otherwise False. */
export function condition<Reason extends string>(
  type: string,
  holds: boolean,
  reason: Reason,
  message: string,
): ConditionState & { reason: Reason } {
  return { type, status: holds ? 'True' : 'False', reason, message }
}

/** Returns the condition of a type; undefined if there is none. */
export function findCondition<T extends { type: string }>(conditions: readonly T[] | undefined, type: string) {
  return conditions?.find((one) => one.type === type)
}

/** Whether there is a condition of a type with the status True. */
export function isTrue(conditions: readonly { type: string; status: string }[] | undefined, type: string): boolean {
  return conditions?.some((one) => one.type === type && one.status === 'True') ?? false
}

/**
 * Replaces the conditions of the same types by these states.
 *
 * @param now in ms since the epoch
 * @param temporary the types that an object has only while they hold: those that are not in `states` are removed
 */
export function withConditions(
  before: readonly Condition[] | undefined,
  states: readonly ConditionState[],
  generation: number | undefined,
  now: number,
  temporary: readonly string[] = [],
): Condition[] {
  const kept = (before ?? []).filter(
    ({ type }) => !temporary.includes(type) && !states.some((state) => state.type === type),
  )
  const next = states.map((state): Condition => {
    const old = before?.find(({ type }) => type === state.type)
    const lastTransitionTime = old?.status === state.status ? old.lastTransitionTime : new Date(now).toISOString()
    return { ...state, lastTransitionTime, ...defined({ observedGeneration: generation }) }
  })
  return [...kept, ...next].sort((a, b) => (a.type < b.type ? -1 : 1))
}
