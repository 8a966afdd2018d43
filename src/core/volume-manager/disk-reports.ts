/** Plans the reports of movers that ended about the disks of their nodes, and the removal of all reports. */
import type { Pod } from '../../api/pod.ts'
import type { Write } from '../plan.ts'
import type { VolumeManagerInput } from './input.ts'
import { directoryOfMover } from './mover/affinity.ts'
import { resultOf } from './mover/observed-state.ts'
import { type DiskReport, forgetDisks, isLater, recordDisk, rootOf } from './nodes/disk.ts'
import type { MoverPod } from './observe.ts'
import { endTimeOf, isEnded } from './pod-use.ts'
import { isOfVolume } from './rules/names.ts'

/** Returns at most one patch for each node and root: with the report of the mover that ended last. */
export function planDiskReports(
  movers: readonly MoverPod[],
  { nodes, settings }: Pick<VolumeManagerInput, 'nodes' | 'settings'>,
): Write[] {
  const latest = new Map<string, { node: string; report: DiskReport; isAwaited: boolean }>()
  for (const { pod, task } of movers) {
    const node = pod.spec?.nodeName
    const report = reportOf(pod, settings.allowedRoots)
    if (node === undefined || !report) continue
    const key = `${node}:${report.root}`
    const known = latest.get(key)?.report
    if (!known || isLater(report, known)) {
      latest.set(key, { node, report, isAwaited: task.role === 'deletion' })
    }
  }
  return [...latest.values()].flatMap(({ node: name, report, isAwaited }) => {
    const node = nodes.get(name)
    return (node && recordDisk(node, report, isAwaited)) ?? []
  })
}

/** Returns one patch for each node with a report: without a VolumeManager, no mover replaces it. */
export function removeDiskReports({ nodes }: Pick<VolumeManagerInput, 'nodes'>): Write[] {
  return [...nodes.all()].flatMap((node) => forgetDisks(node) ?? [])
}

function reportOf(pod: Pod, roots: readonly string[]): DiskReport | undefined {
  const path = directoryOfMover(pod)
  if (!isEnded(pod.status) || path === undefined || !isOfVolume(path)) return undefined
  const { disk } = resultOf(pod) ?? {}
  const root = rootOf(path, roots)
  const time = endTimeOf(pod.status)
  return disk && root !== undefined && time !== undefined ? { root, ...disk, time } : undefined
}
