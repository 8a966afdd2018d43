/** The waiting times of decisions on scheduled workloads. */

export interface PlacementTiming {
  /** In ms: how long the data must be available before a workload returns to it. */
  failbackWindowMs: number
  /** In ms: how long a scheduled workload stays with its data after its last claim is gone. */
  releaseDelayMs: number
}

/** A server that comes and goes moves a workload at most once in five minutes. A claim is replaced within half a minute. */
export const DEFAULT_TIMING: PlacementTiming = { failbackWindowMs: 300_000, releaseDelayMs: 30_000 }

/**
 * The waiting times in messages. They have no numbers: admission does not know the configuration of the loop, and each would write the message
 * again that the other has written.
 */
export const FAILBACK_WINDOW = 'the failback window'
export const RELEASE_DELAY = 'the release delay'
