/** The contract of a data mover and its controller (docs/movers.md): outcomes, exit statuses, reasons of Events, the result. */

/** Of the termination message and of every Event's message. */
export const CONTRACT_VERSION = 1

export type MoverVerb = 'download' | 'upload' | 'prepare' | 'delete'
export type MoverOutcome = 'completed' | 'failed' | 'canceled'

/** The annotation of a mover's Pod that asks it to stop; the downward API shows it to the mover as a file. */
export const CANCEL_ANNOTATION = 'lodestone.dev/cancel'

/** Where the credentials of a mover may be sent: URLs, of which scheme, host and port count. Without it: to the endpoint it is given. */
export const CREDENTIAL_ENDPOINTS_VARIABLE = 'MOVER_CREDENTIAL_ENDPOINTS'

/** Reasons of the Events, after those of Velero's data movers, which watchers and dashboards know. */
export const MOVER_REASONS = {
  started: 'Data-Path-Started',
  progress: 'Data-Path-Progress',
  completed: 'Data-Path-Completed',
  failed: 'Data-Path-Failed',
  cancelling: 'Data-Path-Canceling',
  canceled: 'Data-Path-Canceled',
  /** Always the last one. */
  stopped: 'Data-Path-Stopped',
} as const

export type MoverMoment = keyof typeof MOVER_REASONS

/** Why a mover failed, and whether another attempt can end otherwise without a change by the user. */
export const FAILURES = {
  AccessDenied: { retry: false },
  NotFound: { retry: false },
  NothingSelected: { retry: false },
  UnsafeKey: { retry: false },
  KeyConflict: { retry: false },
  NoSpace: { retry: false },
  TargetExists: { retry: false },
  Rejected: { retry: false },
  SourceChanged: { retry: true },
  ChecksumMismatch: { retry: true },
  Unreachable: { retry: true },
  Unexpected: { retry: true },
} as const

export type FailureCode = keyof typeof FAILURES

/** 2 is left to invalid arguments on the command line, as for every other command. */
const EXIT_STATUS = { completed: 0, failedForNow: 1, failedForGood: 3, canceled: 4 } as const

export interface MoverResult {
  v: typeof CONTRACT_VERSION
  verb: MoverVerb
  outcome: MoverOutcome
  /** Counts the Pods that a controller made for the same work, so that what an earlier one said is not believed. */
  attempt: number
  /** Of a failure. */
  code?: FailureCode
  retry?: boolean
  /** Of the dataset, or of what was uploaded or deleted. */
  bytes: number
  files: number
  /** The bytes of this attempt alone: less than `bytes` when it went on with the work of an earlier one. */
  movedBytes: number
  /** Of a download: names the set of objects, by key, size and ETag. Equal digests are equal data. */
  digest?: string
  message: string
}

/** The exit status of a mover that ends with this result. */
export function exitStatusOf({ outcome, retry }: Pick<MoverResult, 'outcome' | 'retry'>): number {
  if (outcome !== 'failed') return EXIT_STATUS[outcome]
  return retry === true ? EXIT_STATUS.failedForNow : EXIT_STATUS.failedForGood
}
