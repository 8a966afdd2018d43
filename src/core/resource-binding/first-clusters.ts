/** Rejects writes that schedule a workload for the first time, and that do not keep to its data. */
import type { FieldError } from '../../base/field-errors.ts'
import { listNames } from '../../base/names.ts'
import { hasTarget, targetClusters } from '../placement/binding-state.ts'
import { decideBinding } from './decide.ts'
import { withoutClusters } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import { dataOf } from './kept-to-data.ts'

/**
 * Returns an error if a write schedules a workload for the first time that has to wait, or to clusters without its data.
 *
 * Karmada's scheduler sends its choice as a patch without a resourceVersion (v1.18.1, pkg/scheduler/scheduler.go,
 * patchScheduleResultForResourceBinding). So a choice from before a narrowing, or from before the claim was known, would start the workload
 * everywhere for a moment. The loop narrows the stored binding or puts it on hold, and the scheduler retries with that placement.
 */
export function firstClusterErrors(input: BindingInput): FieldError[] {
  const { binding, stored } = input
  if (!stored || hasTarget(stored.spec) || !hasTarget(binding.spec)) return []
  // As for a workload that does not run.
  const { state, message, binding: decided } = decideBinding({ ...input, binding: withoutClusters(binding) })
  if (state === 'OnHold') return [forbidden(`cannot be set yet (${message}); it is scheduled when the hold ends`)]
  const data = dataOf(decided.metadata)
  const outside = data ? targetClusters(binding.spec).filter((name) => !data.has(name)) : []
  if (!data || outside.length === 0) return []
  const [where, not] = [data, outside].map((names) => listNames(names, SHOWN))
  return [
    forbidden(`the data of the workload is in ${where}, and not in ${not}; choose again from the present placement`),
  ]
}

const SHOWN = 5

function forbidden(message: string): FieldError {
  return { path: 'spec.clusters', code: 'Forbidden', message }
}
