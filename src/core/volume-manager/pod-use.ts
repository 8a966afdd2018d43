/** Reads from a pod which directories and claims of volumes it mounts, or mounted before it ended. */

import type { Pod, PodStatus } from '../../api/pod.ts'
import { findCondition } from '../../base/conditions.ts'
import { defined } from '../../base/json.ts'
import { cleanHostPath } from './rules/host-paths.ts'
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

function usedDirectories(spec: Pod['spec'] | undefined): string[] {
  return specVolumes(spec).flatMap(
    ({ hostPath }) => (hostPath?.path && directoryAround(cleanHostPath(hostPath.path))) || [],
  )
}

function usedClaims(spec: Pod['spec'] | undefined): string[] {
  return specVolumes(spec).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName || [])
}

function specVolumes(spec: Pod['spec'] | undefined): NonNullable<Pod['spec']['volumes']> {
  return Array.isArray(spec?.volumes) ? spec.volumes : []
}
