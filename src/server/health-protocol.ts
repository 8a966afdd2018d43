/** Messages between the main thread and the thread of the health server. */

/** Input of the thread. */
export interface HealthThreadInput {
  host: string
  port: number
  /** One number: the last sign of the main thread, in ns of the monotonic clock, which all threads share. */
  heartbeat: BigInt64Array
  livenessStallMs: number
}

/** Queries of the thread. */
export type HealthQuery = 'readiness' | 'metrics'

export type FromThread =
  | { kind: 'listening'; port: number }
  | { kind: 'failed'; message: string }
  | { kind: 'question'; about: HealthQuery }

export type ToThread =
  | { kind: 'readiness'; reasons: string[] }
  /** Absent if the text is too long. */
  | { kind: 'metrics'; text: string | undefined }

/** Interval at which the main thread shows that it is not busy. */
export const HEARTBEAT_MS = 200
/** Ten times the metrics of the largest installations. */
export const MOST_METRICS_CHARACTERS = 4 * 1024 * 1024
