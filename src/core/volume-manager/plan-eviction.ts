/** Plans evictions on a node that is short of disk. The least recently used replica whose volume allows eviction is evicted first. */
import { keyOfObject } from '../../api/meta.ts'
import type { Node } from '../../api/node.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../api/volume-manager.ts'
import type { DeletionStatus, ReplicaStatus } from '../../api/volume-status.ts'
import { parseBytes } from '../../base/quantity.ts'
import { onPresentClock, type Present } from '../../base/time/clock-jumps.ts'
import { eventAbout, NOTHING, type Plan, statusPatchOf } from '../plan.ts'
import type { EvictionCause } from './codes.ts'
import type { LastEnd, VolumeUser } from './input.ts'
import { listConfigs } from './known-status.ts'
import { findRoot, readDiskReport, usedPercent } from './nodes/disk.ts'
import { hasDiskPressure } from './nodes/feasibility.ts'
import { evictReplica } from './replica/replica.ts'
import { dropReplica } from './replica/replica-set.ts'
import { hasChanges, isWrittenBack } from './replica/upload.ts'
import { lastUse, recordEnd } from './replica/use.ts'
import { isOfVolume, nodeLabelsFor } from './rules/names.ts'
import type { VolumeSettings } from './rules/settings.ts'
import { fromTime } from './time.ts'

export interface EvictionInput extends Present {
  node: Node
  /** The VolumeManagers that have data on the node. */
  managers: readonly VolumeManager[]
  users: (directory: string) => readonly VolumeUser[]
  lastEnd: LastEnd
  settings: Pick<VolumeSettings, 'eviction' | 'allowedRoots' | 'movers'>
  /** When a replica was last evicted from the node because of a shortage, in ms since the epoch. */
  lastAt: number | undefined
  /** The roots of the node whose use was beyond the high watermark, and is still beyond the low one. */
  collecting: ReadonlySet<string>
}

export interface EvictionPlan extends Plan {
  /** The replica that is evicted. */
  evicted?: Eviction
  /** Why it is evicted: the node is short of disk, or a root is beyond a watermark. */
  cause?: EvictionCause
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
  config: VolumeConfig
  replica: ReplicaStatus
}

/**
 * Plans the eviction of at most one replica. The next one follows after the data is deleted. In a shortage, it also waits for a pause, since
 * the kubelet reports disk pressure for minutes after disk is free. There is no pause while the mover that deleted the data reports that the
 * disk is beyond the low watermark.
 */
export function planEviction(input: EvictionInput): EvictionPlan {
  const { node, managers, settings, lastAt, collecting, now, jumps } = input
  const { name = '' } = node.metadata
  const { enabled, pauseSeconds } = settings.eviction
  if (!enabled) return NOTHING
  const isShort = hasDiskPressure(node) || managers.some((one) => needsRoom(one, input))
  if (!isShort && collecting.size === 0) return NOTHING
  if (managers.some((manager) => freeingNodes(manager).includes(name))) return NOTHING
  // A time in the future is from before the clock was set back.
  const pausedAt = lastAt !== undefined && lastAt <= now ? onPresentClock(lastAt, jumps) : undefined
  const waitMs = isShort && pausedAt !== undefined ? pausedAt + pauseSeconds * 1000 - now : 0
  const inShortage = isShort ? inOrder(input, allowsInShortage) : []
  const short =
    inShortage.find(({ replica }) => isOnFullDisk(replica, input)) ?? (waitMs <= 0 ? inShortage[0] : undefined)
  if (short) return { ...evict(short, 'DiskPressure', name, now), requeueAfterMs: pauseSeconds * 1000 }
  const [next] = collecting.size > 0 ? inOrder(input, allowsAtWatermark) : []
  const unusedInMs = next ? untilUnused(next, input) : WATERMARK_MS
  if (next && unusedInMs <= 0) return { ...evict(next, 'HighWatermark', name, now), requeueAfterMs: COLLECT_MS }
  if (waitMs > 0) return { ...NOTHING, requeueAfterMs: waitMs }
  return collecting.size > 0 ? { ...NOTHING, requeueAfterMs: Math.min(unusedInMs, WATERMARK_MS) } : NOTHING
}

/** How often a node beyond a watermark is checked: after an eviction, and at the latest while there is nothing to evict. */
const COLLECT_MS = 5_000
const WATERMARK_MS = 60_000

type MayEvict = (candidate: Candidate, input: EvictionInput) => boolean

const allowsInShortage: MayEvict = ({ config }) => config.evictionPolicy === 'LeastRecentlyUsed'

/** Whether a mover reported after the last eviction that the disk of a replica is beyond the low watermark. */
function isOnFullDisk({ path = '' }: ReplicaStatus, { node, settings, lastAt = 0 }: EvictionInput): boolean {
  const disk = readDiskReport(node, findRoot(path, settings.allowedRoots))
  if (!disk || (fromTime(disk.time) ?? 0) <= lastAt) return false
  return usedPercent(disk) > settings.eviction.lowWatermarkPercent
}

/** Every volume that does not say Never. Only the roots beyond a watermark count. */
const allowsAtWatermark: MayEvict = ({ config, replica }, { settings, collecting }) =>
  config.evictionPolicy !== 'Never' && collecting.has(findRoot(replica.path ?? '', settings.allowedRoots) ?? '')

/** In ms: for how long a replica does not count as unused yet; at most 0 if it does. */
function untilUnused({ replica }: Candidate, { settings, now, jumps }: EvictionInput): number {
  return settings.eviction.minUnusedSeconds * 1000 - (now - onPresentClock(lastUse(replica), jumps))
}

/**
 * The replicas that may be evicted, the least recently used first. Data for which a pod waits returns at once. So it is evicted last, and only
 * from a node with disk pressure: there the pod cannot run, and the data returns to another node.
 */
function inOrder(input: EvictionInput, mayEvict: MayEvict): Candidate[] {
  const { node, managers, users } = input
  const { name = '' } = node.metadata
  const failing = new Set(managers.filter((one) => failingNodes(one).includes(name)).map(namespaceOf))
  const unused = managers
    .filter((manager) => !failing.has(namespaceOf(manager)))
    .flatMap((manager) => evictionCandidates(manager, name, input))
    .filter((candidate) => mayEvict(candidate, input))
    .filter(({ replica }) => !users(replica.path ?? '').some((user) => user.node === name))
    .sort((a, b) => lastUse(a.replica) - lastUse(b.replica) || (candidateKey(a) < candidateKey(b) ? -1 : 1))
  const isAwaited = ({ replica }: Candidate) => users(replica.path ?? '').some((user) => user.node === undefined)
  const { unwanted = [], awaited = [] } = Object.groupBy(unused, (one) => (isAwaited(one) ? 'awaited' : 'unwanted'))
  return hasDiskPressure(node) ? [...unwanted, ...awaited] : unwanted
}

/**
 * The roots of a node from which unused replicas are deleted. A root is collected from the high watermark on, until it is at the low one.
 *
 * @param before the roots that were collected before
 */
export function rootsToCollect(
  node: Node,
  { allowedRoots, eviction }: EvictionInput['settings'],
  before: ReadonlySet<string>,
): Set<string> {
  const { enabled, highWatermarkPercent: high, lowWatermarkPercent: low } = eviction
  if (!enabled || high === undefined) return new Set()
  const isBeyond = (root: string) => {
    const disk = readDiskReport(node, root)
    return disk !== undefined && usedPercent(disk) > (before.has(root) ? low : high)
  }
  return new Set(allowedRoots.filter(isBeyond))
}

/** The nodes on which movers of a VolumeManager found no free disk. */
export function fullNodes(manager: Pick<VolumeManager, 'status'>): string[] {
  return nodesOfDeletions(manager, ({ cause }) => cause === 'NoSpace')
}

/**
 * Whether data of a VolumeManager did not fit on the node, and may fit after an eviction. Data that is larger than the whole disk never fits, and
 * would cost all others their unused data.
 */
function needsRoom(manager: VolumeManager, { node, settings }: EvictionInput): boolean {
  const keepFree = parseBytes(settings.movers.keepFree) ?? 0
  return (manager.status?.volumes ?? []).some(({ replicas = [], deletions = [] }) =>
    deletions.some(({ cause, node: name, path }) => {
      if (cause !== 'NoSpace' || name !== node.metadata.name) return false
      const disk = readDiskReport(node, findRoot(path, settings.allowedRoots))
      // Shards have one directory and different sizes.
      const sizes = replicas.filter((one) => one.path === path).flatMap(({ totalBytes }) => totalBytes ?? [])
      return disk === undefined || sizes.length === 0 || Math.min(...sizes) + keepFree <= disk.totalBytes
    }),
  )
}

/** The nodes on which evicted data of a VolumeManager is not deleted yet. */
export function evictingNodes(manager: Pick<VolumeManager, 'status'> | undefined): string[] {
  return nodesOfDeletions(manager, ({ cause }) => cause === 'Evicted')
}

/**
 * The nodes on which no replica is evicted, since data of a VolumeManager is deleted there. A deletion that waits for a pod, a claim or an earlier
 * mover frees nothing as long as that exists, and does not count. Neither does one that failed, until a later mover of it runs.
 */
export function freeingNodes(manager: Pick<VolumeManager, 'status'>): string[] {
  return nodesOfDeletions(manager, (deletion) => isDeletion(deletion) && !isFailing(deletion))
}

/** The nodes on which a deletion of a VolumeManager failed. Others of its namespace may fail too, for example because of a quota. */
function failingNodes(manager: Pick<VolumeManager, 'status'>): string[] {
  return nodesOfDeletions(manager, (deletion) => isDeletion(deletion) && isFailing(deletion))
}

/** Whether a deletion failed, and no later mover of it has run. The next one may wait for its start as long as the last one. */
function isFailing({ state, failures = 0, progressTime }: DeletionStatus): boolean {
  return state === 'Failed' || (failures > 0 && progressTime === undefined)
}

/** Whether whole data is deleted, and no other object keeps it. */
function isDeletion({ cause, reason = '' }: DeletionStatus): boolean {
  return cause !== 'NoSpace' && !WAITS_FOR_OBJECTS.has(reason)
}

function namespaceOf({ metadata }: Pick<VolumeManager, 'metadata'>): string | undefined {
  return metadata.namespace
}

/**
 * Reasons of a deletion that waits (replica/deletion.ts). A tenant can keep each of these objects, the Pod of a mover by a finalizer, and other
 * tenants need the disk.
 */
const WAITS_FOR_OBJECTS: ReadonlySet<string> = new Set(['InUse', 'Claim', 'MoverRunning'])

function nodesOfDeletions(
  manager: Pick<VolumeManager, 'status'> | undefined,
  isWanted: (deletion: DeletionStatus) => boolean,
): string[] {
  return (manager?.status?.volumes ?? []).flatMap(({ deletions = [] }) =>
    deletions.filter(isWanted).map(({ node }) => node),
  )
}

/** The replicas that may be evicted. The ends of pods count even if the status does not record them yet. */
function evictionCandidates(manager: VolumeManager, node: string, { lastEnd, now }: EvictionInput): Candidate[] {
  if (manager.metadata.deletionTimestamp) return []
  const configs = listConfigs(manager)
  return (manager.status?.volumes ?? []).flatMap(({ id, replicas = [] }) => {
    const config = configs.find((one) => one.id === id)
    if (!config) return []
    return replicas
      .filter(
        (replica) =>
          replica.state === 'Ready' && replica.node === node && !replica.inUse && isOfVolume(replica.path ?? ''),
      )
      .map((replica) => {
        const { node: name = '', path = '' } = replica
        return recordEnd(replica, replica, { lastEnd: () => lastEnd(name, path), now })
      })
      .filter((replica) => !(isWrittenBack(config) && hasChanges(replica)))
      .map((replica) => ({ manager, id, config, replica }))
  })
}

function candidateKey({ manager, id }: Candidate): string {
  return `${keyOfObject(manager)}/${id}`
}

function evict({ manager, id, replica }: Candidate, cause: EvictionCause, node: string, now: number): EvictionPlan {
  const rules = { labelsOf: nodeLabelsFor(manager, id), mustStay: () => false }
  const volumes = (manager.status?.volumes ?? []).map((volume) => {
    if (volume.id !== id) return volume
    const { replicas = [], deletions = [], nextIndex = 0 } = volume
    const set = dropReplica({ replicas, deletions, nextIndex }, replica, 'Evicted', rules, now)
    const evicted = evictReplica(replica, cause, now)
    return { ...volume, replicas: [...set.replicas, evicted], deletions: set.deletions, nextIndex: set.nextIndex }
  })
  const message = `${id} on ${node}: ${WHY[cause]}, and no pod uses the data`
  return {
    actions: [
      statusPatchOf(volumeManagers, manager, { volumes }),
      eventAbout(manager, 'Warning', 'ReplicaEvicted', message),
    ],
    evicted: { volumeManager: keyOfObject(manager), volume: id, node },
    cause,
  }
}

const WHY: Readonly<Record<EvictionCause, string>> = {
  DiskPressure: 'the node is short of disk',
  HighWatermark: 'its disk is used beyond the high watermark',
}
