/** The messages between the main thread and the thread of the health server. */

export interface HealthThreadInput {
  host: string
  port: number
  /** One number: the last heartbeat of the main thread, in ns of the monotonic clock, which all threads share. */
  heartbeat: BigInt64Array
  livenessStallMs: number
}

/** A reason why the server is not ready. */
export interface NotReady {
  /** The check that fails, by which `/readyz?exclude=CHECK` leaves it out, as kube-apiserver does. */
  check: 'shutdown' | 'certificate' | 'caches' | 'election' | 'registration' | 'kinds' | 'watches' | 'stall' | 'start'
  message: string
}

/** The queries from the thread to the main thread. */
export type HealthQuery = 'readiness' | 'metrics'

export type FromThread =
  | { kind: 'listening'; port: number }
  | { kind: 'failed'; message: string; code: string | undefined }
  | { kind: 'query'; about: HealthQuery }

export type ToThread =
  | { kind: 'readiness'; reasons: NotReady[]; warnings: string[] }
  /** The text is absent if it is too long. */
  | { kind: 'metrics'; text: string | undefined }
  /** An error prevented the answer, so the last one stays. */
  | { kind: 'failed'; about: HealthQuery }

/** The interval at which the main thread updates the heartbeat. */
export const HEARTBEAT_MS = 200
/** Ten times the size of the metrics in the largest installations. */
export const MAX_METRICS_CHARACTERS = 4 * 1024 * 1024
