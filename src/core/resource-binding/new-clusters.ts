/** Rejects writes that schedule a workload to clusters without its data, or too early. */
import type { FieldError } from '../../base/field-errors.ts'
import { listNames } from '../../base/names.ts'
import { targetClusters } from '../placement/binding-state.ts'
import { decideBinding } from './decide.ts'
import { withoutClusters } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import { narrowedClusters } from './kept-to-data.ts'

/**
 * Returns an error if a write schedules a workload to a cluster without its data, or for the first time although it has to wait.
 *
 * Karmada's scheduler sends its choice as a patch without a resourceVersion (v1.18.1, pkg/scheduler/scheduler.go,
 * patchScheduleResultForResourceBinding). So a choice from before a narrowing, or from before the claim was known, would start the workload
 * elsewhere for a moment. The loop narrows the stored binding or puts it on hold, and the scheduler retries with that placement.
 */
export function newClusterErrors(input: BindingInput): FieldError[] {
  const { binding, stored } = input
  const before = new Set(targetClusters(stored?.spec))
  const added = targetClusters(binding.spec).filter((name) => !before.has(name))
  if (!stored || added.length === 0) return []
  const isFirst = before.size === 0
  // A workload that runs and is not narrowed yet may go where its policy allows it, for instance after a failover.
  if (!isFirst && !narrowedClusters(stored.metadata)) return []
  // Before its first clusters, a workload does not run.
  const decided = decideBinding(isFirst ? { ...input, binding: withoutClusters(binding) } : input)
  if (isFirst && decided.state === 'OnHold') {
    return [forbidden(`cannot be set yet (${decided.message}); it is scheduled when the hold ends`)]
  }
  const data = narrowedClusters(decided.binding.metadata)
  const outside = data ? added.filter((name) => !data.has(name)) : []
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
