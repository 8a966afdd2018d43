/** Whether a node can be counted on for its data. */
import type { Node } from '../../../api/node.ts'

export interface NodeHealth {
  isReady: boolean
  /** Since when it has not been, in ms since the epoch. */
  since?: number
}

/** By its condition Ready: a node that says nothing of itself is taken for one that is ready, as in a folder of manifests. */
export function healthOf({ status }: Node): NodeHealth {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!ready || ready.status === 'True') return { isReady: true }
  const since = Date.parse(ready.lastTransitionTime ?? '')
  return { isReady: false, ...(!Number.isNaN(since) && { since }) }
}

/** Whether the kubelet says that the disk is short. */
export function hasDiskPressure({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'DiskPressure' && holds === 'True') ?? false
}
