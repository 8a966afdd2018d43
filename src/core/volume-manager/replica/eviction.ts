/** What goes when a node is short of disk: the replica that nobody has used for the longest time, if its owner allows that. */
import { keyOfObject, nameOfObject } from '../../../api/meta.ts'
import type { Node } from '../../../api/node.ts'
import { type ReplicaStatus, type VolumeManager, volumeManagers } from '../../../api/volume-manager.ts'
import type { Plan } from '../../plan.ts'
import { NOTHING } from '../../plan.ts'
import type { LastEnd, VolumeUser } from '../input.ts'
import { hasDiskPressure } from '../schedule/node-health.ts'
import type { VolumeSettings } from '../spec/settings.ts'
import { toTime } from '../status/time.ts'
import { abandonsFor, dropReplica, lastUse, type ReleaseReason } from './replica-set.ts'
import { hasChanges, isWrittenBack } from './upload.ts'
import { noteEnd } from './use.ts'
import { labeller } from './volume-plan.ts'

export interface EvictionInput {
  node: Node
  /** Those that have data on the node. */
  managers: readonly VolumeManager[]
  users: (directory: string) => readonly VolumeUser[]
  lastEnd: LastEnd
  settings: VolumeSettings['eviction']
  /** When something was last evicted from the node, in ms since the epoch. */
  lastAt: number | undefined
  now: number
}

export interface EvictionPlan extends Plan {
  /** The replica that goes, if one does. */
  evicted?: Eviction
}

/** Which volume loses its replica on a node. */
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
 * One replica at a time, and the next one only when that one is gone and the kubelet has had time to see it: by its own words a node is
 * short of disk for minutes after it no longer is.
 */
export function planEviction(input: EvictionInput): EvictionPlan {
  const { node, managers, users, settings, lastAt, now } = input
  const { name = '' } = node.metadata
  if (!settings.enabled || !(hasDiskPressure(node) || managers.some((one) => crampedNodes(one).includes(name))))
    return NOTHING
  const waitMs = lastAt === undefined ? 0 : lastAt + settings.pauseSeconds * 1000 - now
  if (waitMs > 0) return { ...NOTHING, requeueAfterMs: waitMs }
  if (managers.some((manager) => isMakingRoom(name, manager))) return NOTHING
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

/** The nodes on which movers of a manager found no room. */
export function crampedNodes(manager: Pick<VolumeManager, 'status'>): string[] {
  return nodesLeftFor(manager, abandonsFor('NoSpace'))
}

/** The nodes on which evicted data of a manager is not deleted yet. */
export function evictingNodes(manager: Pick<VolumeManager, 'status'> | undefined): string[] {
  return nodesLeftFor(manager, 'Evicted')
}

function nodesLeftFor(manager: Pick<VolumeManager, 'status'> | undefined, why: ReleaseReason): string[] {
  return (manager?.status?.volumes ?? []).flatMap(({ releases = [] }) =>
    releases.filter(({ reason }) => reason === why).map(({ node }) => node),
  )
}

function isMakingRoom(node: string, { status }: VolumeManager): boolean {
  return (status?.volumes ?? []).some(({ releases = [] }) =>
    releases.some((release) => release.node === node && release.reason !== abandonsFor('NoSpace')),
  )
}

/** What may go. Ends of pods count that the loop of the VolumeManager has perhaps not noticed yet. */
function candidatesOf(manager: VolumeManager, node: string, { lastEnd, now }: EvictionInput): Candidate[] {
  if (manager.metadata.deletionTimestamp) return []
  return (manager.status?.volumes ?? []).flatMap(({ id, replicas = [] }) => {
    const config = manager.spec.volumeConfigs.find((one) => one.id === id)
    if (config?.evictionPolicy !== 'LeastRecentlyUsed') return []
    return replicas
      .filter((replica) => replica.state === 'Ready' && replica.node === node && !replica.inUse && replica.path)
      .map((replica) => noteEnd(replica, lastEnd, now))
      .filter((replica) => !(isWrittenBack(config) && hasChanges(replica)))
      .map((replica) => ({ manager, id, replica }))
  })
}

function keyOf({ manager, id }: Candidate): string {
  return `${keyOfObject(manager)}/${id}`
}

function evict({ manager, id, replica }: Candidate, node: string, now: number): Plan {
  const { resourceVersion } = manager.metadata
  const letting = { labelsOf: labeller(manager, id), isHeld: () => false }
  const volumes = (manager.status?.volumes ?? []).map((volume) => {
    if (volume.id !== id) return volume
    const { replicas = [], releases = [], nextIndex = 0 } = volume
    const set = dropReplica({ replicas, releases, nextIndex }, replica, 'Evicted', letting, now)
    const { node: _node, nodeUID: _uid, bytes: _bytes, inUse: _inUse, ...rest } = replica
    const evicted: ReplicaStatus = {
      ...rest,
      state: 'Evicted',
      reason: 'DiskPressure',
      message: `deleted on ${node}`,
      since: toTime(now),
    }
    return { ...volume, replicas: [...set.replicas, evicted], releases: set.releases, nextIndex: set.nextIndex }
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
        message: `${id} on ${node}: the node is short of disk, and nobody uses the data`,
      },
    ],
  }
}
