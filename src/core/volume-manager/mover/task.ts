/** For whom a mover works: noted on its pod, so that whoever comes later knows without any memory. */
import { MOVER_TASK_ANNOTATION } from '../../../api/lodestone.ts'
import { keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeManager } from '../../../api/volume-manager.ts'
import { isObject, jsonEqual } from '../../json.ts'
import { moverName } from '../spec/names.ts'

export interface MoverTask {
  /** `namespace/name` of the VolumeManager. */
  manager: string
  /** The volume's. */
  id: string
  /** For what: to bring a replica, to write it back, or to delete what is released. */
  role: 'replica' | 'upload' | 'release'
  /** Of the replica or the release. */
  index: number
  attempt: number
}

const ROLES: readonly unknown[] = ['replica', 'upload', 'release'] satisfies MoverTask['role'][]

/** What a mover does by the note on its pod; undefined for a pod without a note that can be read. */
export function readTask(pod: Pick<Pod, 'metadata'>): MoverTask | undefined {
  const text = pod.metadata.annotations?.[MOVER_TASK_ANNOTATION]
  if (text === undefined) return undefined
  let task: unknown
  try {
    task = JSON.parse(text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return undefined
  }
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

export function taskOf(
  manager: VolumeManager,
  id: string,
  role: MoverTask['role'],
  { index, attempt }: { index: number; attempt: number },
): MoverTask {
  return { manager: keyOfObject(manager), id, role, index, attempt }
}

export function nameOfTask(manager: VolumeManager, { id, role, index, attempt }: MoverTask): string {
  return moverName(manager, id, role, index, attempt)
}

/** The mover of a task among those that there are: a name alone could be anybody's. */
export function moverOf(manager: VolumeManager, task: MoverTask, movers: ReadonlyMap<string, Pod>): Pod | undefined {
  const pod = movers.get(nameOfTask(manager, task))
  return pod && jsonEqual(readTask(pod), task) ? pod : undefined
}
