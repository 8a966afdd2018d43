/** Honors a deleted claim for 5 s, so that a workload that is deleted together with it does not move to other clusters first. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'

/** In ms: the time in which `kubectl delete -f` deletes the workloads of an application after its claims. */
export const HONOR_MS = 5000

/** Returns until when a deleted claim is honored, in ms since the epoch; undefined for a claim that is not being deleted. */
export function honoredUntil({ metadata }: DataSourceClaim): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp) + HONOR_MS
}

/**
 * Whether a claim is honored at `now` (ms since the epoch). The API server sets the time of deletion by its own clock. If our clock is more
 * than 5 s behind, a deleted claim is not honored. Otherwise it would be honored for as long as the clocks differ.
 */
export function isHonored(claim: DataSourceClaim, now: number): boolean {
  const until = honoredUntil(claim)
  return until === undefined || (now < until && now >= until - 2 * HONOR_MS)
}
