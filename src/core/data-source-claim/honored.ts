/** How a claim leaves: who deletes it together with its workload does not see that workload go to other clusters first. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'

/** As long as one `kubectl delete -f` of an application takes to come from its claims to its workloads, in ms. */
export const HONOR_MS = 5000

/** Until when a claim that is being deleted has a say, in ms since the epoch; undefined for one that stays. */
export function honoredUntil({ metadata }: DataSourceClaim): number | undefined {
  return metadata.deletionTimestamp === undefined ? undefined : Date.parse(metadata.deletionTimestamp) + HONOR_MS
}

/**
 * Whether a claim has a say at `now` (ms since the epoch). The API server notes a deletion by its own clock: where ours is behind it
 * by more than a leave, a deleted claim has none, so that it never waits for as long as the clocks are apart.
 */
export function isHonored(claim: DataSourceClaim, now: number): boolean {
  const until = honoredUntil(claim)
  return until === undefined || (now < until && now >= until - 2 * HONOR_MS)
}
