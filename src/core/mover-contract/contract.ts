/** The contract between a data mover and its controller (docs/guides/movers.md): outcomes, exit statuses, reasons of Events, the result. */

/** The version in the termination message and in the message of every Event. */
export const CONTRACT_VERSION = 1

export type MoverVerb = 'download' | 'upload' | 'prepare' | 'check' | 'delete'
export type MoverOutcome = 'completed' | 'failed' | 'canceled'

/** The container of a mover in its Pod. An admission webhook may add others, such as the proxy of a service mesh. */
export const MOVER_CONTAINER = 'mover'

/** On mover pods, by users: any value but `false` stops the mover. The downward API shows it to the mover as a file. */
export const CANCEL_ANNOTATION = 'lodestone.dev/cancel'

/**
 * The URLs to which a mover may send credentials; scheme, host and port are compared. If it is not set, only the given endpoint is allowed.
 */
export const CREDENTIAL_ENDPOINTS_VARIABLE = 'MOVER_CREDENTIAL_ENDPOINTS'

/** Certificates, as PEM, that a mover trusts instead of those of the system. */
export const CA_VARIABLE = 'MOVER_CA'

/** Reasons of the Events. They follow the reasons of Velero's data movers, so that existing dashboards recognize them. */
export const MOVER_REASONS = {
  started: 'Data-Path-Started',
  progress: 'Data-Path-Progress',
  completed: 'Data-Path-Completed',
  failed: 'Data-Path-Failed',
  cancelling: 'Data-Path-Canceling',
  canceled: 'Data-Path-Canceled',
  /** The last Event of every mover. */
  stopped: 'Data-Path-Stopped',
} as const

export type MoverMoment = keyof typeof MOVER_REASONS

/** Why a mover failed, and whether a retry can succeed without a change by the user. */
export const FAILURES = {
  AccessDenied: { retry: false },
  NotFound: { retry: false },
  NothingSelected: { retry: false },
  UnsafeKey: { retry: false },
  KeyConflict: { retry: false },
  NoSpace: { retry: false },
  TargetExists: { retry: false },
  /** The path of existing data has a symbolic link: its content may be that of another user. */
  LinkInPath: { retry: false },
  Rejected: { retry: false },
  SourceChanged: { retry: true },
  /** The clock of the node differs too much from that of the server. */
  ClockSkew: { retry: true },
  /** The source has two versions of an object that pods and another client changed. */
  WriteConflict: { retry: false },
  /** A later mover of the same directory has taken over, such as after the Pod of this one was deleted by force. */
  TakenOver: { retry: true },
  ChecksumMismatch: { retry: true },
  /** The directory has no data: it was deleted, or its disk was replaced. */
  DataMissing: { retry: true },
  /** Files of the data are missing, or differ from what was downloaded. */
  DataDamaged: { retry: true },
  Unreachable: { retry: true },
  Unexpected: { retry: true },
} as const

export type FailureCode = keyof typeof FAILURES

/** The value 2 is reserved for invalid arguments, as in every other command. */
const EXIT_STATUS = { completed: 0, failedForNow: 1, failedForGood: 3, canceled: 4 } as const

export interface MoverResult {
  v: typeof CONTRACT_VERSION
  verb: MoverVerb
  outcome: MoverOutcome
  /** The number of this Pod among the Pods for the same work. Results of an earlier attempt are ignored. */
  attempt: number
  /** Only for a failure. */
  code?: FailureCode
  retry?: boolean
  /** The bytes of the dataset, or of the uploaded or deleted data. */
  bytes: number
  files: number
  /** The bytes of this attempt alone: less than `bytes` if it continued an earlier attempt. */
  movedBytes: number
  /** Only for a download: identifies the set of objects by key, size and ETag. Equal digests mean equal data. */
  digest?: string
  /** The number of replaced trees that are kept, since pods may still use them. */
  oldTrees?: number
  /** Whether this mover replaced complete data. */
  replaced?: true
  /** The bytes of all data, if the mover listed the source and failed then. */
  totalBytes?: number
  /** The disk of the root when the mover ended; absent when it is unknown. */
  disk?: MoverDisk
  message: string
}

export interface MoverDisk {
  /** What a process without privileges may still write. */
  freeBytes: number
  totalBytes: number
}

/** Returns the exit status of a mover with this result. */
export function exitStatusOf({ outcome, retry }: Pick<MoverResult, 'outcome' | 'retry'>): number {
  if (outcome !== 'failed') return EXIT_STATUS[outcome]
  return retry === true ? EXIT_STATUS.failedForNow : EXIT_STATUS.failedForGood
}
