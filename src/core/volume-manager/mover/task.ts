/** The task of a mover, which is an annotation of its Pod; and the movers that a status expects. */
import { MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import { keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import type { VolumeStatus } from '../../../api/volume-status.ts'
import { isObject, jsonEqual, parseJson } from '../../../base/json.ts'
import { moverName } from '../rules/names.ts'

export interface MoverTask {
  /** `namespace/name` of the VolumeManager, or the key of a leftover (nodes/leftovers.ts). */
  manager: string
  /** The id of the volume. */
  id: string
  /**
   * `replica` downloads the data of a replica, `upload` writes its changes back, `maintenance` checks or refreshes it, `deletion` and
   * `leftover` delete data.
   */
  role: 'replica' | 'upload' | 'maintenance' | 'deletion' | 'leftover'
  /** The index of the replica or the deletion. */
  index: number
  attempt: number
}

const ROLES: readonly unknown[] = [
  'replica',
  'upload',
  'maintenance',
  'deletion',
  'leftover',
] satisfies MoverTask['role'][]

/** The task in the annotation of a Pod; undefined when the annotation is missing or invalid. */
export function readTask(pod: Pick<Pod, 'metadata'>): MoverTask | undefined {
  const task = parseJson(pod.metadata.annotations?.[MOVER_TASK_ANNOTATION])
  return isTask(task) ? task : undefined
}

function isTask(task: unknown): task is MoverTask {
  return (
    isObject(task) &&
    typeof task['manager'] === 'string' &&
    typeof task['id'] === 'string' &&
    ROLES.includes(task['role']) &&
    Number.isInteger(task['index']) &&
    Number.isInteger(task['attempt'])
  )
}

/** The task of one attempt at a replica, an upload or a deletion. */
export function buildTask(
  manager: VolumeManager,
  id: string,
  role: MoverTask['role'],
  { index, attempt }: { index: number; attempt: number },
): MoverTask {
  return { manager: keyOfObject(manager), id, role, index, attempt }
}

/** Finds the mover of a task. It compares the annotation too, since a user may have created a Pod with the same name. */
export function findMover(manager: VolumeManager, task: MoverTask, movers: ReadonlyMap<string, Pod>): Pod | undefined {
  const pod = movers.get(moverName(manager, task))
  return pod && jsonEqual(readTask(pod), task) ? pod : undefined
}

const AT_WORK: readonly string[] = ['Starting', 'Downloading', 'Uploading', 'Running', 'Deleting']
const UNSETTLED: readonly string[] = [...AT_WORK, 'Queued', 'Failed']

/** The names of the movers that work for a volume, according to its status. */
export function moversAtWork(manager: VolumeManager, volume: Volume): string[] {
  return taskNames(manager, volume, (state) => AT_WORK.includes(state))
}

/**
 * The names of all movers that should exist. The cache may be behind the status, so the caller reads missing movers from the API server.
 */
export function expectedMovers(manager: VolumeManager): string[] {
  return (manager.status?.volumes ?? []).flatMap((volume) => moversAtWork(manager, volume))
}

/** The names of all movers that wait for a slot, work, or failed and were not retried yet. */
export function unsettledMovers(manager: VolumeManager): string[] {
  return (manager.status?.volumes ?? []).flatMap((volume) =>
    taskNames(manager, volume, (state) => UNSETTLED.includes(state)),
  )
}

type Volume = Pick<VolumeStatus, 'id' | 'replicas' | 'deletions'>

function taskNames(
  manager: VolumeManager,
  { id, replicas = [], deletions = [] }: Volume,
  isIncluded: (state: string) => boolean,
): string[] {
  const tasks: { role: MoverTask['role']; index: number; attempt: number; state: string }[] = [
    ...replicas.map((one) => ({ ...one, role: 'replica' as const })),
    ...replicas.flatMap(({ index, upload }) => (upload ? [{ ...upload, index, role: 'upload' as const }] : [])),
    ...replicas.flatMap(({ index, maintenance }) =>
      maintenance ? [{ ...maintenance, index, role: 'maintenance' as const }] : [],
    ),
    ...deletions.map((one) => ({ ...one, role: 'deletion' as const })),
  ]
  return tasks
    .filter(({ state }) => isIncluded(state))
    .map((one) => moverName(manager, buildTask(manager, id, one.role, one)))
}
