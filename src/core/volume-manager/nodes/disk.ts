/**
 * Free disk of nodes: plans the reports of movers that ended, and finds the nodes on which the data of a replica does not fit. The Node has the last report for each
 * directory of `volumes.allowedRoots`, as an annotation.
 */
import { DISK_PREFIX } from '../../../api/lodestone.ts'
import type { Node } from '../../../api/node.ts'
import type { Pod } from '../../../api/pod.ts'
import type { VolumeConfig } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { fnv1a } from '../../../base/hash.ts'
import { isCount, isObject, parseJson } from '../../../base/json.ts'
import { parseBytes } from '../../../base/quantity.ts'
import { nodePatchOf, type Write } from '../../plan.ts'
import type { VolumeManagerInput } from '../input.ts'
import { directoryOfMover } from '../mover/affinity.ts'
import { hasMoverEnded, moverResult } from '../mover/observed-state.ts'
import type { MoverPod } from '../observe.ts'
import { podEndTime } from '../pod-use.ts'
import { isBelow } from '../rules/host-paths.ts'
import { isOfVolume } from '../rules/names.ts'
import { parseQuantity } from '../rules/options.ts'
import type { VolumeSettings } from '../rules/settings.ts'
import { fromTime } from '../time.ts'

/** The disk of a directory of a node. */
export interface DiskReport {
  /** One of `volumes.allowedRoots`. */
  root: string
  freeBytes: number
  totalBytes: number
  /** When the mover that reported it ended, by the clock of the node. */
  time: string
}

/** The root that contains a directory: its disk counts as one. Undefined for a directory below none of them. */
export function findRoot(path: string, roots: readonly string[]): string | undefined {
  return roots.filter((root) => isBelow(path, [root])).sort((a, b) => b.length - a.length)[0]
}

/** The last report about a root of a node; undefined when there is none. */
export function readDiskReport({ metadata }: Node, root: string | undefined): DiskReport | undefined {
  const value = root === undefined ? undefined : parseJson(metadata.annotations?.[diskAnnotation(root)])
  return isReport(value) && value.root === root ? value : undefined
}

function isReport(value: unknown): value is DiskReport {
  if (!isObject(value)) return false
  const { root, freeBytes, totalBytes, time } = value
  return typeof root === 'string' && isCount(freeBytes) && isCount(totalBytes) && typeof time === 'string'
}

/** How much of a disk is used, in percent; 0 for a disk without a size. */
export function usedPercent({ freeBytes, totalBytes }: Pick<DiskReport, 'freeBytes' | 'totalBytes'>): number {
  return totalBytes > 0 ? 100 * (1 - Math.min(freeBytes, totalBytes) / totalBytes) : 0
}

/** Returns at most one patch for each node and root: with the report of the mover that ended last. */
export function planDiskReports(
  movers: readonly MoverPod[],
  { nodes, settings, now }: Pick<VolumeManagerInput, 'nodes' | 'settings' | 'now'>,
): Write[] {
  const latest = new Map<string, { node: string; report: DiskReport; isAwaited: boolean }>()
  for (const { pod, task } of movers) {
    const node = pod.spec?.nodeName
    const report = diskReport(pod, settings.allowedRoots)
    if (node === undefined || !report) continue
    const key = `${node}:${report.root}`
    const known = latest.get(key)?.report
    if (!known || isLater(report, known)) {
      latest.set(key, { node, report, isAwaited: task.role === 'deletion' })
    }
  }
  return [...latest.values()].flatMap(({ node: name, report, isAwaited }) => {
    const node = nodes.get(name)
    return (node && recordDisk(node, report, { isAwaited, now })) ?? []
  })
}

/** Returns one patch for each node with a report: without a VolumeManager, no mover replaces it. */
export function removeDiskReports({ nodes }: Pick<VolumeManagerInput, 'nodes'>): Write[] {
  return [...nodes.all()].flatMap((node) => forgetDisks(node) ?? [])
}

function diskReport(pod: Pod, roots: readonly string[]): DiskReport | undefined {
  const path = directoryOfMover(pod)
  if (!hasMoverEnded(pod) || path === undefined || !isOfVolume(path)) return undefined
  const { disk } = moverResult(pod) ?? {}
  const root = findRoot(path, roots)
  const time = podEndTime(pod.status)
  return disk && root !== undefined && time !== undefined ? { root, ...disk, time } : undefined
}

/** The age from which a report is replaced although the disk has hardly changed. */
const MAX_AGE_MS = 600_000

/**
 * The patch of a node with a new report; undefined when the known one is newer, or hardly differs.
 *
 * `isAwaited` is whether the report is recorded although it hardly differs: after a deletion, the next eviction depends on its time.
 */
export function recordDisk(
  node: Node,
  report: DiskReport,
  { isAwaited, now }: { isAwaited: boolean; now: number },
): Write | undefined {
  const known = readDiskReport(node, report.root)
  // A known report of the future is by the clock of a node that was ahead.
  if (known && reportTime(known) <= now + MAX_AGE_MS) {
    const isSimilar = known.totalBytes === report.totalBytes && Math.abs(usedPercent(known) - usedPercent(report)) < 1
    const isOld = reportTime(report) - reportTime(known) >= MAX_AGE_MS
    if (!isLater(report, known) || (isSimilar && !isAwaited && !isOld)) return undefined
  }
  return nodePatchOf(node, { annotations: { [diskAnnotation(report.root)]: JSON.stringify(report) } })
}

/** The patch that removes all reports of a node; undefined when it has none. */
function forgetDisks(node: Node): Write | undefined {
  const reports = Object.keys(node.metadata.annotations ?? {}).filter((key) => key.startsWith(DISK_PREFIX))
  if (reports.length === 0) return undefined
  return nodePatchOf(node, { annotations: Object.fromEntries(reports.map((key) => [key, null])) })
}

/**
 * Whether a report counts instead of another one. The end of a Pod has a resolution of one second. Of two reports with the same time, that
 * of the fuller disk counts. Otherwise a disk beyond the high watermark could stay unknown until the next mover ends.
 */
function isLater(report: DiskReport, known: DiskReport): boolean {
  const ageMs = reportTime(report) - reportTime(known)
  return ageMs > 0 || (ageMs === 0 && usedPercent(report) > usedPercent(known))
}

function reportTime({ time }: DiskReport): number {
  return fromTime(time) ?? 0
}

function diskAnnotation(root: string): string {
  return DISK_PREFIX + fnv1a(root)
}

/**
 * The size of the data of a replica: of the replicas that are complete, or as a mover listed it. Without both, `capacity` of the volume,
 * which is that of all its parts together. Undefined when nothing is known.
 */
export function replicaSize(
  { revision, shard }: Pick<ReplicaStatus, 'revision' | 'shard'>,
  config: VolumeConfig | undefined,
  replicas: readonly ReplicaStatus[],
): number | undefined {
  const same = replicas.filter((one) => one.revision === revision && one.shard === shard)
  const known = same.flatMap(
    ({ state, bytes, totalBytes }) => totalBytes ?? (state === 'Ready' ? bytes : undefined) ?? [],
  )
  if (known.length > 0) return Math.max(...known)
  return shard === undefined && config?.capacity ? parseQuantity(config.capacity) : undefined
}

/** The nodes on which the data does not fit. A node without a report is not one of them: unknown is not too small. */
export function nodesWithoutRoom(
  candidates: readonly Node[],
  { path, bytes }: { path: string; bytes: number | undefined },
  { allowedRoots, movers }: Pick<VolumeSettings, 'allowedRoots' | 'movers'>,
): string[] {
  const root = findRoot(path, allowedRoots)
  const keepFree = parseBytes(movers.keepFree) ?? 0
  return candidates.flatMap((node) => {
    const disk = readDiskReport(node, root)
    return bytes !== undefined && disk && disk.freeBytes < bytes + keepFree ? (node.metadata.name ?? []) : []
  })
}
