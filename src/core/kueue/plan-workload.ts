/** Plans for a Workload of Kueue: writes the state of the checks that Lodestone answers. */
import { type AdmissionCheckState, type KueueWorkload, kueueWorkloads } from '../../api/kueue.ts'
import { NOTHING, type Plan, statusPatchOf } from '../plan.ts'
import type { CheckDecision } from './decide-check.ts'
import { awaitsChecks, isOpen } from './workload-state.ts'

/** Returns the states of the Workload that Lodestone may write: those of its own checks, while Kueue waits for them. */
export function openChecks(workload: KueueWorkload, isOurs: (check: string) => boolean): AdmissionCheckState[] {
  if (!awaitsChecks(workload)) return []
  return (workload.status?.admissionChecks ?? []).filter((check) => isOurs(check.name) && isOpen(check, workload))
}

/**
 * Plans one guarded patch with all states of the Workload: a merge patch replaces lists. Kueue's own writes have its resourceVersion, so of
 * two writers one tries again.
 *
 * @param decisions by the name of the check, for each that Lodestone may write
 * @param now in ms since the epoch
 */
export function planWorkloadChecks(
  workload: KueueWorkload,
  decisions: ReadonlyMap<string, CheckDecision>,
  now: number,
): Plan {
  const before = workload.status?.admissionChecks ?? []
  const admissionChecks = before.map((check) => {
    const { state, message } = decisions.get(check.name) ?? check
    if (state === check.state && message === check.message) return check
    const lastTransitionTime = state === check.state ? check.lastTransitionTime : new Date(now).toISOString()
    return { ...check, state, message, lastTransitionTime }
  })
  if (admissionChecks.every((check, i) => check === before[i])) return NOTHING
  return { actions: [statusPatchOf(kueueWorkloads, workload, { admissionChecks })] }
}
