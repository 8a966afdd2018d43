/** What the main thread and the thread of the health server tell each other. */

/** Given to the thread at its start. */
export interface HealthThreadInput {
  host: string
  port: number
  /** One number: when the main thread was last seen, in ns of the monotonic clock, which all threads share. */
  heartbeat: BigInt64Array
  livenessStallMs: number
}

/** What the thread asks for. */
export type HealthQuestion = 'readiness' | 'metrics'

export type FromThread =
  | { kind: 'listening'; port: number }
  | { kind: 'failed'; message: string }
  | { kind: 'question'; about: HealthQuestion }

export type ToThread =
  | { kind: 'readiness'; reasons: string[] }
  /** Absent when there is too much to tell. */
  | { kind: 'metrics'; text: string | undefined }

/** How often the main thread shows that it is not busy. */
export const HEARTBEAT_MS = 200
/** The metrics of the largest installations take a tenth of it. */
export const MOST_METRICS_CHARACTERS = 4 * 1024 * 1024
