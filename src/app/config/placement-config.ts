/** The configuration of placement: how long decisions on scheduled workloads wait. */
import { DEFAULT_TIMING, type PlacementTiming } from '../../core/resource-binding/timing.ts'
import { field, section } from './section.ts'

export const placementSection = section({
  failbackWindowSeconds: field(
    { type: 'integer', minimum: 1, maximum: 86_400 },
    DEFAULT_TIMING.failbackWindowMs / 1000,
    'How long a cluster can take a workload before it [returns](../concepts/claims.md#after-a-failover).',
  ),
  releaseDelaySeconds: field(
    { type: 'integer', minimum: 0, maximum: 3600 },
    DEFAULT_TIMING.releaseDelayMs / 1000,
    'How long a workload stays after its [last claim](../concepts/claims.md#when-the-last-claim-is-deleted), so that it can be replaced.',
  ),
})

type PlacementConfig = typeof placementSection.default

/** Returns the waiting times as decisions take them. */
export function placementTiming({ failbackWindowSeconds, releaseDelaySeconds }: PlacementConfig): PlacementTiming {
  return { failbackWindowMs: failbackWindowSeconds * 1000, releaseDelayMs: releaseDelaySeconds * 1000 }
}
