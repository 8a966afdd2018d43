/** The configuration of placement: how long decisions on scheduled workloads wait. */
import { DEFAULT_TIMING, type PlacementTiming } from '../../core/resource-binding/timing.ts'
import { field, section } from './section.ts'

export const placementSection = section({
  /** How long the data of a workload must be available before the workload returns to it after a failover. */
  failbackWindowSeconds: field(
    { type: 'integer', minimum: 1, maximum: 86_400 },
    DEFAULT_TIMING.failbackWindowMs / 1000,
  ),
  /** How long a scheduled workload stays with its data after its last claim is gone, so that the claim can be replaced. */
  releaseDelaySeconds: field({ type: 'integer', minimum: 0, maximum: 3600 }, DEFAULT_TIMING.releaseDelayMs / 1000),
})

type PlacementConfig = typeof placementSection.default

/** Returns the waiting times as decisions take them. */
export function placementTiming({ failbackWindowSeconds, releaseDelaySeconds }: PlacementConfig): PlacementTiming {
  return { failbackWindowMs: failbackWindowSeconds * 1000, releaseDelayMs: releaseDelaySeconds * 1000 }
}
