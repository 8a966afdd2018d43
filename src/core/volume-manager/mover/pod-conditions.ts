/** Reads the status of a mover's Pod: how far it has come before its container starts, and its result. */
import type { Pod } from '../../../api/pod.ts'
import { type ReadMoverResult, readTerminationMessage } from '../../mover-contract/termination-message.ts'
import { fromTime } from '../time.ts'

/** When the scheduler placed a Pod, in ms since the epoch; 0 if it is not known. */
export function scheduledAt({ status }: Pod): number {
  const placed = status?.conditions?.find(({ type, status: holds }) => type === 'PodScheduled' && holds === 'True')
  return fromTime(placed?.lastTransitionTime ?? undefined) ?? 0
}

/**
 * The directory of a `Local` volume for which a Pod waits, since the kubelet mounts it only if it exists. The kubelet reports that it has
 * mounted all volumes with the condition PodReadyToStartContainers, since Kubernetes 1.29.
 */
export function unmountedDirectory({ spec, status }: Pod): string | undefined {
  const isWaiting = status?.conditions?.some(
    ({ type, status: holds }) => type === 'PodReadyToStartContainers' && holds === 'False',
  )
  return isWaiting ? spec?.volumes?.find(({ hostPath }) => hostPath?.type === 'Directory')?.hostPath?.path : undefined
}

/** How the container of a mover ended; undefined while it runs. */
export function terminatedOf(pod: Pod) {
  return pod.status?.containerStatuses?.[0]?.state?.terminated
}

/** The result that the mover wrote; undefined when it wrote none. */
export function resultOf(pod: Pod): ReadMoverResult | undefined {
  return readTerminationMessage(terminatedOf(pod)?.message ?? '')
}
