/** Who may start movers next: all VolumeManagers in one queue, since they share the nodes and the network. */
import { keyOfObject } from '../../../api/meta.ts'
import type { Pod } from '../../../api/pod.ts'
import type { ReleaseStatus, ReplicaStatus, UploadStatus, VolumeManager } from '../../../api/volume-manager.ts'
import type { MoverAllowance } from '../input.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { fromTime } from '../status/time.ts'

/** The reasons of replicas that wait for something else than a slot, in words. */
export const STUCK = {
  NoNode: 'there is no node that could take it now',
  NoClaim: 'its claim is not there yet: the controller of PersistentVolumes has to notice the volume first',
  InvalidSpec: 'the spec of its volume is no good',
} as const

/** Whether a replica or a release waits for a slot. */
function isWaiting({ state }: Pick<ReplicaStatus | ReleaseStatus | UploadStatus, 'state'>): boolean {
  return state === 'Queued'
}

/** Whether a manager waits for a slot with any part of it. */
export function isInQueue({ status }: Pick<VolumeManager, 'status'>): boolean {
  const volumes = Array.isArray(status?.volumes) ? status.volumes : []
  return volumes.some(({ replicas = [], releases = [] }) =>
    [...replicas, ...releases, ...replicas.flatMap(({ upload }) => upload ?? [])].some(isWaiting),
  )
}

interface Turn {
  manager: string
  /** Whether it could not have started when it was last looked at. */
  isStuck: boolean
  priority: number
  since: number
}

/**
 * Whose turn it is, in order: deletions, which make room, then by priority, then who has waited longest; and behind them all who could not
 * start anyway when it was last looked at. Of each VolumeManager as many turns as it waits for.
 */
export function queueOf(waiting: Iterable<VolumeManager>): string[] {
  return [...waiting]
    .flatMap(turnsOf)
    .sort(
      (a, b) =>
        Number(a.isStuck) - Number(b.isStuck) ||
        b.priority - a.priority ||
        a.since - b.since ||
        (a.manager < b.manager ? -1 : 1),
    )
    .map(({ manager }) => manager)
}

function turnsOf({ metadata, spec, status }: VolumeManager): Turn[] {
  const manager = keyOfObject({ metadata })
  return (status?.volumes ?? []).flatMap(({ id, replicas = [], releases = [] }) => {
    const priority = spec.volumeConfigs.find((config) => config.id === id)?.priority ?? 0
    const turn = ({ since }: Pick<UploadStatus, 'since'>) => ({
      manager,
      isStuck: false,
      since: fromTime(since) ?? 0,
    })
    return [
      ...releases.filter(isWaiting).map((one) => ({ ...turn(one), priority: Number.POSITIVE_INFINITY })),
      ...replicas.flatMap(({ upload }) => (upload && isWaiting(upload) ? [{ ...turn(upload), priority }] : [])),
      ...replicas
        .filter(isWaiting)
        .map((one) => ({ ...turn(one), priority, isStuck: Object.hasOwn(STUCK, one.reason ?? '') })),
    ]
  })
}

export interface AllowanceInput {
  /** `namespace/name` of who asks. */
  manager: string
  queue: readonly string[]
  /** The movers that have not ended, of all VolumeManagers, those that are in no cache yet included. */
  active: readonly Pod[]
  settings: VolumeSettings['movers']
}

/** What a VolumeManager may start now without overtaking anybody. */
export function allowanceOf({ manager, queue, active, settings }: AllowanceInput): MoverAllowance {
  const free = Math.max(0, settings.maxInAll - active.length)
  const slots = queue.slice(0, free).filter((one) => one === manager).length
  return { slots, active }
}
