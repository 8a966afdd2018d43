/** Remembers on which nodes the movers of a download failed, and decides which nodes the next one avoids. */
import { MAX_NODE_FAILURES } from '../../../api/schemas/volume-status.ts'
import type { NodeFailure } from '../../../api/volume-status.ts'
import { defined } from '../../../base/json.ts'
import { backoffMs } from '../../../base/time/backoff.ts'
import { toTime } from '../../../base/time/timestamp.ts'
import { fromTime } from '../time.ts'

const BACKOFF = { firstMs: 60_000, lastMs: 3_600_000 }

/** The failures without progress after which a replica leaves a node that has a part of its data. */
const MAX_FAILURES_WITH_DATA = 3

/** Adds a failure on a node. Beyond `MAX_NODE_FAILURES`, the oldest entries are dropped. */
export function recordNodeFailure(
  known: readonly NodeFailure[] = [],
  { node, reason, bytes }: Pick<NodeFailure, 'node' | 'reason'> & { bytes: number },
  now: number,
): NodeFailure[] {
  const isSame = (one: NodeFailure) => one.node === node && one.reason === reason
  // A mover that fails before it has listed the source reports no bytes, also on a node with a part of the data.
  const last = mayContinue(known) ? known.at(-1) : undefined
  const onDisk = Math.max(bytes, (last?.node === node && last.bytes) || 0)
  const hasProgress = known.every((one) => one.node !== node || bytes > (one.bytes ?? 0))
  const failures = hasProgress ? 1 : (known.find(isSame)?.failures ?? 0) + 1
  const retryTime = toTime(now + backoffMs(BACKOFF, failures))
  const added = defined({ node, reason, failures, bytes: onDisk > 0 ? onDisk : undefined, retryTime })
  return [...known.filter((one) => !isSame(one)), added].slice(-MAX_NODE_FAILURES)
}

/** Whether the next attempt continues on the node of the last failure: it has a part of the data, and attempts still add to it. */
export function mayContinue(failures: readonly NodeFailure[]): boolean {
  const last = failures.at(-1)
  return last?.bytes !== undefined && last.failures < MAX_FAILURES_WITH_DATA
}

/**
 * The nodes that the next mover must not use: all nodes with failures while another node is free. If every free node has failures, these are
 * the nodes whose back-off is not over. If no back-off is over, only the node whose back-off ends first remains.
 *
 * @param free the nodes that can take the replica now
 */
export function nodesToAvoid(
  failures: readonly NodeFailure[],
  free: ReadonlySet<string>,
  now: number,
): ReadonlySet<string> {
  const retryAt = new Map<string, number>()
  for (const { node, retryTime } of failures) {
    retryAt.set(node, Math.max(retryAt.get(node) ?? 0, fromTime(retryTime) ?? 0))
  }
  const failed = new Set(retryAt.keys())
  if ([...free].some((node) => !failed.has(node))) return failed
  const earliest = Math.min(...[...free].map((node) => retryAt.get(node) ?? 0))
  return new Set([...failed].filter((node) => (retryAt.get(node) ?? 0) > Math.max(now, earliest)))
}
