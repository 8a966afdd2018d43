/** What the metrics count of movers: the tasks, the ended movers, and the failures in a status. */
import { MOVER_LABEL } from '../../../api/lodestone.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { FAILURES } from '../../mover-contract/contract.ts'
import { MESSAGES } from '../codes.ts'
import { isEnded, podEndTime } from '../pod-use.ts'
import { fromTime } from '../time.ts'
import { isKnownPodReason, moverResult, moverState, REJECTED } from './observed-state.ts'
import { type MoverTask, readTask } from './task.ts'

/** The values of the label `task`. */
export const MEASURED_TASKS = ['download', 'upload', 'maintenance', 'deletion'] as const
export type MeasuredTask = (typeof MEASURED_TASKS)[number]

const TASKS: Readonly<Record<MoverTask['role'], MeasuredTask>> = {
  replica: 'download',
  upload: 'upload',
  maintenance: 'maintenance',
  deletion: 'deletion',
  leftover: 'deletion',
}

export interface EndedMover {
  task: MeasuredTask
  result: 'succeeded' | 'failed'
  /** From the start of its Pod by the clock of its node; undefined if it never ran. */
  seconds: number | undefined
  /** Of this attempt alone. */
  movedBytes: number
}

/** Returns an ended mover; undefined for a Pod that still runs, or that is no mover. */
export function endedMover(pod: Pod): EndedMover | undefined {
  const task = isEnded(pod.status) && pod.metadata.labels?.[MOVER_LABEL] !== undefined ? readTask(pod) : undefined
  if (!task) return undefined
  const start = fromTime(pod.status?.startTime)
  const end = fromTime(podEndTime(pod.status))
  return {
    task: TASKS[task.role],
    result: moverState(pod, 0).kind === 'succeeded' ? 'succeeded' : 'failed',
    seconds: start === undefined || end === undefined ? undefined : Math.max(0, end - start) / 1000,
    movedBytes: moverResult(pod)?.movedBytes ?? 0,
  }
}

export interface CountedFailure {
  task: MeasuredTask
  /** A known code, else `Other`: the number of label values is bounded, also with the codes of other movers. */
  reason: string
}

interface Attempts {
  state: string
  failures?: number
  reason?: string
}

/** Returns the failures of movers that a new status has and the one before it had not. */
export function newFailures(before: VolumeManager | undefined, after: VolumeManager): CountedFailure[] {
  const known = new Map(listAttempts(before).map(({ key, failures = 0 }) => [key, failures]))
  return listAttempts(after).flatMap(({ key, task, state, failures = 0, reason }) =>
    state === 'Failed' && failures > (known.get(key) ?? 0) ? [{ task, reason: boundedReason(reason) }] : [],
  )
}

const REASONS: ReadonlySet<string> = new Set([...Object.keys(FAILURES), ...Object.keys(MESSAGES), REJECTED])

function boundedReason(reason = ''): string {
  return REASONS.has(reason) || isKnownPodReason(reason) ? reason : 'Other'
}

function listAttempts(manager: VolumeManager | undefined): (Attempts & { key: string; task: MeasuredTask })[] {
  return (manager?.status?.volumes ?? []).flatMap((volume) =>
    listVolumeWork(volume).map(([task, index, work]) => ({ ...work, task, key: `${volume.id} ${task} ${index}` })),
  )
}

/** All work of a volume: the downloads, uploads, checks and deletions, each with its index. */
export function listVolumeWork({ replicas = [], deletions = [] }: Pick<VolumeStatus, 'replicas' | 'deletions'>) {
  const works: [MeasuredTask, number, Attempts & { since?: string }][] = []
  for (const replica of replicas) {
    works.push(['download', replica.index, replica])
    if (replica.upload) works.push(['upload', replica.index, replica.upload])
    if (replica.maintenance) works.push(['maintenance', replica.index, replica.maintenance])
  }
  for (const deletion of deletions) works.push(['deletion', deletion.index, deletion])
  return works
}
