/** The movers that a status speaks of: those that are at work as far as anybody noted. */
import type { VolumeManager } from '../../api/volume-manager.ts'
import { nameOfTask, taskOf } from './mover-task.ts'
import { isMoving } from './replica.ts'

/** The names of the pods that should be there. A cache may be behind the status: one that is missing is to be asked for. */
export function expectedMovers(manager: VolumeManager): string[] {
  return (manager.status?.volumes ?? []).flatMap(({ id, replicas = [], releases = [] }) => [
    ...replicas.filter(isMoving).map((one) => nameOfTask(manager, taskOf(manager, id, 'replica', one))),
    ...replicas.flatMap(({ index, upload }) =>
      upload?.state === 'Uploading'
        ? [nameOfTask(manager, taskOf(manager, id, 'upload', { index, attempt: upload.attempt }))]
        : [],
    ),
    ...releases
      .filter(({ state }) => state === 'Deleting')
      .map((one) => nameOfTask(manager, taskOf(manager, id, 'release', one))),
  ])
}
