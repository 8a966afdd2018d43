/** Decides whether the data of a Workload of Kueue is ready, and plans the states of its checks. */
import { type AdmissionCheckState, type KueueWorkload, kueueWorkloads } from '../../api/kueue.ts'
import { cut } from '../outcome.ts'
import { NOTHING, type Plan, statusPatchOf } from '../plan.ts'
import type { BindingDecision } from '../resource-binding/decide.ts'
import type { VolumesState } from '../workload/gate/volumes-state.ts'
import { awaitsChecks, isOpen } from './workload-state.ts'

export interface CheckInput {
  /** Why claims, sources or VolumeManagers may exist that are not known; absent if all are known. */
  unknown?: string | undefined
  /** Whether the Workload has no job yet, so that no claim can name it. */
  lacksJob: boolean
  /** The decisions on the jobs of the Workload, as on their bindings. */
  placements: readonly BindingDecision[]
  /** The volumes of its pod templates; none on a hub, where the decision on the binding covers them. */
  volumes: readonly VolumesState[]
}

export interface CheckDecision {
  state: 'Pending' | 'Ready'
  /** The reason, as a sentence. */
  message: string
}

/** In characters: Kueue copies the message into an Event on the job, which has at most 1,024. */
export const MAX_CHECK_MESSAGE = 900

/** Joins the messages of a decision, each once. */
export function joinMessages(messages: readonly string[]): string {
  return cut([...new Set(messages)].join('; '), MAX_CHECK_MESSAGE)
}

/** The message for a Workload without a job. */
export const NO_JOB = 'no job owns this Workload yet; claims name the job'

/** The least that is not known, or not there yet, is a reason to wait. Data that is not required never is: the decisions contain that rule. */
export function decideCheck({ unknown, lacksJob, placements, volumes }: CheckInput): CheckDecision {
  const waiting = [
    ...placements.filter(({ state }) => state === 'OnHold').map(({ message }) => message),
    ...volumes.filter(({ isReady }) => !isReady).map(({ message }) => message),
  ]
  if (waiting.length > 0) return decision('Pending', waiting)
  if (unknown !== undefined) return decision('Pending', [unknown])
  if (lacksJob) return decision('Pending', [NO_JOB])
  const found = [...placements, ...volumes].map(({ message }) => message).filter((message) => message !== '')
  return decision('Ready', found.length > 0 ? found : ['no claim or volume names data for it'])
}

function decision(state: CheckDecision['state'], messages: readonly string[]): CheckDecision {
  return { state, message: joinMessages(messages) }
}

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
