/** The health of a node, by its conditions Ready and DiskPressure. */

import type { Node } from '../../../api/node.ts'
import { defined } from '../../../base/json.ts'

export interface NodeHealth {
  isReady: boolean
  /** Since when it is not ready, in ms since the epoch. */
  since?: number
}

/** Reads the condition Ready. A node without it counts as ready, because manifests in a folder have no status. */
export function healthOf({ status }: Node): NodeHealth {
  const ready = status?.conditions?.find(({ type }) => type === 'Ready')
  if (!ready || ready.status === 'True') return { isReady: true }
  const since = Date.parse(ready.lastTransitionTime ?? '')
  return defined({ isReady: false, since: Number.isNaN(since) ? undefined : since })
}

/** When a node that is not ready was not ready for this long, in ms since the epoch; undefined while the node is ready. */
export function unreadyFor(node: Node, seconds: number, since: number): number | undefined {
  const health = healthOf(node)
  return health.isReady ? undefined : (health.since ?? since) + seconds * 1000
}

/** Whether the kubelet reports disk pressure. */
export function hasDiskPressure({ status }: Node): boolean {
  return status?.conditions?.some(({ type, status: holds }) => type === 'DiskPressure' && holds === 'True') ?? false
}
