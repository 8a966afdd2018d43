/** Plans evictions on a node that is short of disk. The least recently used replica whose volume allows eviction is evicted first. */
import { keyOfObject, nameOfObject } from '../../../api/meta.ts'
import type { Node } from '../../../api/node.ts'
import { type ReplicaStatus, type VolumeManager, volumeManagers } from '../../../api/volume-manager.ts'
import type { Plan } from '../../plan.ts'
import { NOTHING } from '../../plan.ts'
import type { LastEnd, VolumeUser } from '../input.ts'
import { hasDiskPressure } from '../schedule/node-health.ts'
import { isOfVolume } from '../spec/names.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { type DeletionCause, MESSAGES } from '../status/codes.ts'
import { toTime } from '../status/time.ts'
import { nodeLabelsFor } from './observe.ts'
import { dropReplica, lastUse } from './replica-set.ts'
import { hasChanges, isWrittenBack } from './upload.ts'
import { recordEnd } from './use.ts'

export interface EvictionInput {
  node: Node
  /** The VolumeManagers that have data on the node. */
  managers: readonly VolumeManager[]
  users: (directory: string) => readonly VolumeUser[]
  lastEnd: LastEnd
  settings: VolumeSettings['eviction']
  /** When a replica was last evicted from the node, in ms since the epoch. */
  lastAt: number | undefined
  now: number
}

export interface EvictionPlan extends Plan {
  /** The replica that is evicted. */
  evicted?: Eviction
}

/** The volume and the node of an evicted replica. */
export interface Eviction {
  /** `namespace/name`. */
  volumeManager: string
  volume: string
  node: string
}

interface Candidate {
  manager: VolumeManager
  id: string
  replica: ReplicaStatus
}

/**
 * Plans the eviction of at most one replica. The next one follows after the data is deleted and a pause is over. The kubelet reports disk
 * pressure for minutes after disk is free.
 */
export function planEviction(input: EvictionInput): EvictionPlan {
  const { node, managers, users, settings, lastAt, now } = input
  const { name = '' } = node.metadata
  if (!settings.enabled || !(hasDiskPressure(node) || managers.some((one) => fullNodes(one).includes(name))))
    return NOTHING
  const waitMs = lastAt === undefined ? 0 : lastAt + settings.pauseSeconds * 1000 - now
  if (waitMs > 0) return { ...NOTHING, requeueAfterMs: waitMs }
  if (managers.some((manager) => isFreeingDisk(name, manager))) return NOTHING
  const candidates = managers
    .flatMap((manager) => candidatesOf(manager, name, input))
    .filter(({ replica }) => !users(replica.path ?? '').some((user) => user.node === name))
    .sort((a, b) => lastUse(a.replica) - lastUse(b.replica) || (keyOf(a) < keyOf(b) ? -1 : 1))
  const [oldest] = candidates
  if (!oldest) return NOTHING
  return {
    ...evict(oldest, name, now),
    evicted: { volumeManager: keyOfObject(oldest.manager), volume: oldest.id, node: name },
    requeueAfterMs: settings.pauseSeconds * 1000,
  }
}

/** The nodes on which movers of a VolumeManager found no free disk. */
export function fullNodes(manager: Pick<VolumeManager, 'status'>): string[] {
  return nodesOfDeletions(manager, 'NoSpace')
}

/** The nodes on which evicted data of a VolumeManager is not deleted yet. */
export function evictingNodes(manager: Pick<VolumeManager, 'status'> | undefined): string[] {
  return nodesOfDeletions(manager, 'Evicted')
}

function nodesOfDeletions(manager: Pick<VolumeManager, 'status'> | undefined, wanted: DeletionCause): string[] {
  return (manager?.status?.volumes ?? []).flatMap(({ deletions = [] }) =>
    deletions.filter(({ cause }) => cause === wanted).map(({ node }) => node),
  )
}

function isFreeingDisk(node: string, { status }: VolumeManager): boolean {
  return (status?.volumes ?? []).some(({ deletions = [] }) =>
    deletions.some((deletion) => deletion.node === node && deletion.cause !== 'NoSpace'),
  )
}

/** The replicas that may be evicted. The ends of pods count even if the status does not record them yet. */
function candidatesOf(manager: VolumeManager, node: string, { lastEnd, now }: EvictionInput): Candidate[] {
  if (manager.metadata.deletionTimestamp) return []
  return (manager.status?.volumes ?? []).flatMap(({ id, replicas = [] }) => {
    const config = manager.spec.volumeConfigs.find((one) => one.id === id)
    if (config?.evictionPolicy !== 'LeastRecentlyUsed') return []
    return replicas
      .filter(
        (replica) =>
          replica.state === 'Ready' && replica.node === node && !replica.inUse && isOfVolume(replica.path ?? ''),
      )
      .map((replica) => recordEnd(replica, lastEnd, now))
      .filter((replica) => !(isWrittenBack(config) && hasChanges(replica)))
      .map((replica) => ({ manager, id, replica }))
  })
}

function keyOf({ manager, id }: Candidate): string {
  return `${keyOfObject(manager)}/${id}`
}

function evict({ manager, id, replica }: Candidate, node: string, now: number): Plan {
  const { resourceVersion } = manager.metadata
  const rules = { labelsOf: nodeLabelsFor(manager, id), mustStay: () => false }
  const volumes = (manager.status?.volumes ?? []).map((volume) => {
    if (volume.id !== id) return volume
    const { replicas = [], deletions = [], nextIndex = 0 } = volume
    const set = dropReplica({ replicas, deletions, nextIndex }, replica, 'Evicted', rules, now)
    const { node: _node, nodeUID: _uid, bytes: _bytes, inUse: _inUse, ...rest } = replica
    const evicted: ReplicaStatus = {
      ...rest,
      state: 'Evicted',
      reason: 'DiskPressure',
      message: MESSAGES.DiskPressure(node),
      since: toTime(now),
    }
    return { ...volume, replicas: [...set.replicas, evicted], deletions: set.deletions, nextIndex: set.nextIndex }
  })
  const of = { type: volumeManagers, ...nameOfObject(manager) }
  return {
    actions: [
      { kind: 'patch', of, patch: { metadata: { resourceVersion }, status: { volumes } }, subresource: 'status' },
      {
        kind: 'event',
        about: manager,
        type: 'Warning',
        reason: 'ReplicaEvicted',
        message: `${id} on ${node}: the node is short of disk, and no pod uses the data`,
      },
    ],
  }
}
