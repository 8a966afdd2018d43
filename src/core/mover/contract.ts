/** The contract of a data mover and its controller (docs/movers.md): outcomes, exit statuses, reasons of Events, the result. */
import { isCount, isObject } from '../json.ts'

/** Of the termination message and of every Event's message. */
export const CONTRACT_VERSION = 1

export type MoverVerb = 'download' | 'upload' | 'prepare' | 'delete'
export type MoverOutcome = 'completed' | 'failed' | 'cancelled'

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
  cancelled: 'Data-Path-Canceled',
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
const EXIT_STATUS = { completed: 0, failedForNow: 1, failedForGood: 3, cancelled: 4 } as const

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

/** As much as Kubernetes takes of one container. */
const MAX_TERMINATION_BYTES = 4096

/** The termination message: one line of JSON of at most 4096 bytes. The text in it is cut when it is too long, never the JSON. */
export function terminationMessage(result: MoverResult): string {
  const line = (message: string) => JSON.stringify({ ...result, message })
  if (isShort(line(result.message))) return line(result.message)
  // Halving the range finds the longest text that fits; escapes and characters of several bytes make a division wrong.
  let [fits, tooLong] = [0, result.message.length]
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1
    if (isShort(line(cut(result.message, middle)))) fits = middle
    else tooLong = middle
  }
  return line(cut(result.message, fits))
}

function cut(text: string, length: number): string {
  return `${text.slice(0, length).replace(/[\uD800-\uDBFF]$/, '')}…`
}

function isShort(text: string): boolean {
  // encodeURIComponent writes every byte that is not plain as three characters.
  return encodeURIComponent(text.toWellFormed()).replace(/%../g, '_').length <= MAX_TERMINATION_BYTES
}

/** As it is read: another mover may have codes of its own. */
export type ReadMoverResult = Omit<MoverResult, 'code'> & { code?: string }

/** Reads a termination message; undefined for anything that no mover of this version wrote, such as the last lines of a crash. */
export function readTerminationMessage(text: string): ReadMoverResult | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The kubelet puts the end of the log here when a container died without a message.
    return undefined
  }
  return isResult(value) ? value : undefined
}

const OUTCOMES: readonly unknown[] = ['completed', 'failed', 'cancelled'] satisfies MoverOutcome[]
const VERBS: readonly unknown[] = ['download', 'upload', 'prepare', 'delete'] satisfies MoverVerb[]

const CODE = /^[A-Z][A-Za-z]{0,62}$/

function isResult(value: unknown): value is ReadMoverResult {
  if (!isObject(value)) return false
  const { v, verb, outcome, attempt, code, retry, bytes, files, movedBytes, message } = value
  return (
    v === CONTRACT_VERSION &&
    VERBS.includes(verb) &&
    OUTCOMES.includes(outcome) &&
    [attempt, bytes, files, movedBytes].every(isCount) &&
    (code === undefined || (typeof code === 'string' && CODE.test(code))) &&
    (retry === undefined || typeof retry === 'boolean') &&
    typeof message === 'string'
  )
}
