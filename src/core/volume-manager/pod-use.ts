/** Reads from a pod which directories and claims of volumes it mounts, or mounted before it ended. */

import type { Pod, PodStatus, VolumeMount } from '../../api/pod.ts'
import { findCondition } from '../../base/conditions.ts'
import { defined } from '../../base/json.ts'
import { cleanHostPath, mountedHostPath } from './rules/host-paths.ts'
import { directoryAround } from './rules/names.ts'
import { latestTime } from './time.ts'

export interface PodUse {
  /** Absent while the pod waits for a node. */
  node?: string
  /** When the kubelet accepted the pod, by the clock of the node. */
  startTime?: string
  directories: string[]
  claims: string[]
}

/** The data that a pod used until it ended. */
export interface PastUse {
  node: string
  directories: string[]
  claims: string[]
  /** By the clock of the node. */
  endTime: string
}

/** The data that a pod uses; undefined for a pod that uses none or has ended. A pod that is being deleted still runs. */
export function readPodUse({ spec, status }: Pod): PodUse | undefined {
  if (isEnded(status)) return undefined
  const directories = usedDirectories(spec)
  const claims = usedClaims(spec)
  if (directories.length + claims.length === 0) return undefined
  const startTime = status?.startTime
  return defined({ node: spec.nodeName || undefined, startTime, directories, claims })
}

/** The directories and claims whose data a pod may have changed before it ended; undefined for a pod that runs, or was on no node. */
export function readPastUse({ spec, status }: Pod): PastUse | undefined {
  if (!isEnded(status) || !spec?.nodeName) return undefined
  const directories = usedDirectories(spec)
  const claims = usedClaims(spec)
  const endTime = podEndTime(status)
  if (directories.length + claims.length === 0 || endTime === undefined) return undefined
  return { node: spec.nodeName, directories, claims, endTime }
}

/**
 * When a pod ended, by the clock of its node. The kubelet reports no end time for a container that it cannot find (reason
 * `ContainerStatusUnknown`, pkg/kubelet/status). Then the result is the time at which the pod ceased to be ready, or its start time.
 */
export function podEndTime({
  containerStatuses = [],
  initContainerStatuses = [],
  conditions = [],
  startTime,
}: PodStatus = {}): string | undefined {
  const ends = [...initContainerStatuses, ...containerStatuses].map(({ state }) => state?.terminated?.finishedAt)
  const unreadySince = findCondition(conditions, 'Ready')?.lastTransitionTime
  return latestTime(ends.filter((end) => typeof end === 'string')) ?? unreadySince ?? startTime
}

/** Whether all containers of a pod have ended. */
export function isEnded(status: PodStatus | undefined): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

/** A pod may mount a directory around that of a volume, such as the root of all data. Then the parts count that its containers mount. */
function usedDirectories(spec: Pod['spec'] | undefined): string[] {
  const used = new Set<string>()
  const around = new Map<string, string>()
  for (const { name, hostPath } of specVolumes(spec)) {
    if (!hostPath?.path) continue
    const path = cleanHostPath(hostPath.path)
    const directory = directoryAround(path)
    if (directory === undefined) around.set(name, path)
    else used.add(directory)
  }
  for (const mount of around.size > 0 ? partialMounts(spec) : []) {
    const path = around.get(mount.name)
    if (path === undefined || path.length > MAX_PATH_LENGTH) continue
    const directory = directoryAround(mountedHostPath(path, mount))
    if (directory !== undefined) used.add(directory)
  }
  return [...used]
}

/** A part of a volume has the path of the whole in memory. So a pod with many parts of a long path would need more than its own size. */
const MAX_PARTIAL_MOUNTS = 1000
/** In characters. Linux mounts no longer path (PATH_MAX). */
const MAX_PATH_LENGTH = 4096

/** The mounts of a part of a volume. Ephemeral containers have none: an API server rejects them (ValidateEphemeralContainers). */
function partialMounts(spec: Pod['spec'] | undefined): VolumeMount[] {
  return [...(spec?.containers ?? []), ...(spec?.initContainers ?? [])]
    .flatMap(({ volumeMounts }) => volumeMounts ?? [])
    .filter(({ subPath, subPathExpr }) => subPath || subPathExpr)
    .slice(0, MAX_PARTIAL_MOUNTS)
}

function usedClaims(spec: Pod['spec'] | undefined): string[] {
  return specVolumes(spec).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName || [])
}

function specVolumes(spec: Pod['spec'] | undefined): NonNullable<Pod['spec']['volumes']> {
  return Array.isArray(spec?.volumes) ? spec.volumes : []
}
