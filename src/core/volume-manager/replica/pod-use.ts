/** Which data of volumes a pod has mounted, or had, whoever wrote that into it: admission, or a person by hand. */
import type { Pod, PodStatus } from '../../../api/pod.ts'
import { directoryAround } from '../spec/names.ts'
import { latestOf } from '../status/time.ts'

export interface PodUse {
  /** Absent while the pod waits for a node. */
  node?: string
  directories: string[]
  claims: string[]
}

/** What a pod had that has ended. */
export interface PastUse {
  node: string
  directories: string[]
  /** By the clock of the node. */
  endTime: string
}

/** What a pod uses; undefined for one that uses nothing, or has ended. One that is being deleted still runs. */
export function useOf({ spec, status }: Pod): PodUse | undefined {
  if (isEnded(status)) return undefined
  const directories = directoriesOf(spec)
  const claims = volumesOf(spec).flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName || [])
  if (directories.length + claims.length === 0) return undefined
  return { ...(spec.nodeName && { node: spec.nodeName }), directories, claims }
}

/** Of which directories a pod may have changed the data before it ended; undefined for one that has not, or was on no node. */
export function pastUseOf({ spec, status }: Pod): PastUse | undefined {
  if (!isEnded(status) || !spec?.nodeName) return undefined
  const directories = directoriesOf(spec)
  const endTime = endTimeOf(status)
  return directories.length > 0 && endTime !== undefined ? { node: spec.nodeName, directories, endTime } : undefined
}

/**
 * When a pod that has ended did so, by the clock of its node. Of a container that it cannot find any more a kubelet knows no time (reason
 * `ContainerStatusUnknown`, pkg/kubelet/status): then it is when the pod ceased to be ready, or else when it was begun, which tells it
 * as well from pods that had ended before.
 */
export function endTimeOf({
  containerStatuses = [],
  initContainerStatuses = [],
  conditions = [],
  startTime,
}: PodStatus = {}): string | undefined {
  const ends = [...initContainerStatuses, ...containerStatuses].map(({ state }) => state?.terminated?.finishedAt)
  const ready = conditions.find(({ type }) => type === 'Ready')
  return latestOf(ends.filter((end) => typeof end === 'string')) ?? ready?.lastTransitionTime ?? startTime
}

export function isEnded(status: PodStatus | undefined): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}

function directoriesOf(spec: Pod['spec'] | undefined): string[] {
  return volumesOf(spec).flatMap(({ hostPath }) => (hostPath?.path && directoryAround(hostPath.path)) || [])
}

function volumesOf(spec: Pod['spec'] | undefined): NonNullable<Pod['spec']['volumes']> {
  return Array.isArray(spec?.volumes) ? spec.volumes : []
}
