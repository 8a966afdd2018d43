/** Plans for an AdmissionCheck of Kueue: the condition Active says whether Lodestone answers it. */
import { type AdmissionCheck, admissionChecks, DATA_CHECK_CONTROLLER } from '../../api/kueue.ts'
import { type ConditionState, condition, isTrue, withConditions } from '../../base/conditions.ts'
import { jsonEqual } from '../../base/json.ts'
import { cut } from '../outcome.ts'
import { NOTHING, type Plan, statusPatchOf, type Write } from '../plan.ts'
import { MAX_CHECK_MESSAGE } from './decide-check.ts'

/** The condition of an AdmissionCheck whose controller works. Kueue reserves no quota in a ClusterQueue with another check. */
const ACTIVE = 'Active'

/** Whether Lodestone answers the check. An AdmissionCheck of another controller is never written. */
export function isDataCheck({ spec }: AdmissionCheck): boolean {
  return spec?.controllerName === DATA_CHECK_CONTROLLER
}

/** Returns why no Workload gets Ready by the check: it has parameters, and Lodestone knows none. Undefined for a valid check. */
export function checkFault({ spec }: AdmissionCheck): string | undefined {
  return spec.parameters
    ? `spec.parameters: Forbidden: ${DATA_CHECK_CONTROLLER} has no parameters; remove them`
    : undefined
}

/**
 * Plans the condition Active.
 *
 * @param unknown why claims, sources or VolumeManagers may exist that are not known; undefined if all are known
 * @param now in ms since the epoch
 */
export function planAdmissionCheck(check: AdmissionCheck, unknown: string | undefined, now: number): Plan {
  if (!isDataCheck(check) || check.metadata.deletionTimestamp) return NOTHING
  const write = writeCondition(check, activeState(check, unknown), now)
  return write ? { actions: [write] } : NOTHING
}

/**
 * Returns the write that ends a check, since Lodestone does not answer it any more. Kueue then reserves no quota for Workloads, which would wait
 * for good. Undefined if it says so already, or for a check of another controller.
 *
 * @param now in ms since the epoch
 */
export function deactivateCheck(check: AdmissionCheck, now: number): Write | undefined {
  if (!isDataCheck(check) || !isTrue(check.status?.conditions, ACTIVE)) return undefined
  const message = 'Lodestone was removed, and answers no Workload; remove the check from its ClusterQueues'
  return writeCondition(check, condition(ACTIVE, false, 'Uninstalled', message), now)
}

/** Returns the write of a condition; undefined if it stays as it is. */
function writeCondition(check: AdmissionCheck, state: ConditionState, now: number): Write | undefined {
  const before = check.status?.conditions
  const conditions = withConditions(before, [state], check.metadata.generation, now)
  return jsonEqual(conditions, before) ? undefined : statusPatchOf(admissionChecks, check, { conditions })
}

function activeState(check: AdmissionCheck, unknown: string | undefined): ConditionState {
  const fault = checkFault(check)
  if (fault !== undefined) return condition(ACTIVE, false, 'BadParameters', fault)
  if (unknown !== undefined) return condition(ACTIVE, false, 'DataUnknown', cut(unknown, MAX_CHECK_MESSAGE))
  return condition(ACTIVE, true, 'Active', 'Lodestone answers when the data of a Workload is ready')
}
