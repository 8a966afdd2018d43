/** The movers that a status speaks of, by the names of their pods. */
import type { VolumeManager, VolumeStatus } from '../../../api/volume-manager.ts'
import { type MoverTask, nameOfTask, taskOf } from './task.ts'

const AT_WORK: readonly string[] = ['Starting', 'Downloading', 'Uploading', 'Deleting']
const UNSETTLED: readonly string[] = [...AT_WORK, 'Queued', 'Failed']

/** Those of one volume that are at work as far as anybody noted. */
export function moversAtWork(manager: VolumeManager, volume: Volume): string[] {
  return namesOf(manager, volume, (state) => AT_WORK.includes(state))
}

/** Those of all volumes that are at work, which should be there. A cache may be behind the status: one that is missing is to be asked for. */
export function expectedMovers(manager: VolumeManager): string[] {
  return (manager.status?.volumes ?? []).flatMap((volume) => moversAtWork(manager, volume))
}

/** Those that wait for their turn, are at work, or failed and were not followed by another one yet. */
export function unsettledMovers(manager: VolumeManager): string[] {
  return (manager.status?.volumes ?? []).flatMap((volume) =>
    namesOf(manager, volume, (state) => UNSETTLED.includes(state)),
  )
}

type Volume = Pick<VolumeStatus, 'id' | 'replicas' | 'releases'>

function namesOf(
  manager: VolumeManager,
  { id, replicas = [], releases = [] }: Volume,
  isMeant: (state: string) => boolean,
): string[] {
  const work: { role: MoverTask['role']; index: number; attempt: number; state: string }[] = [
    ...replicas.map((one) => ({ ...one, role: 'replica' as const })),
    ...replicas.flatMap(({ index, upload }) => (upload ? [{ ...upload, index, role: 'upload' as const }] : [])),
    ...releases.map((one) => ({ ...one, role: 'release' as const })),
  ]
  return work
    .filter(({ state }) => isMeant(state))
    .map((one) => nameOfTask(manager, taskOf(manager, id, one.role, one)))
}
