/** Decides whether the leader may replace a registration that differs. Two versions or configurations must not replace it in turns. */
import type { Replica } from '../api/registration.ts'

/** What this leader wrote before, and whether another client changed it. Times are those of a monotonic clock, in ms. */
export interface WriteHistory {
  writtenAtMs?: number
  /** Absent while the registration is as this leader wrote it. */
  revertedAtMs?: number
  /** How often in a row it was changed soon after a write. */
  reverts: number
}

export interface TurnInput {
  own: Replica
  /** The other replicas that are alive. */
  others: readonly Replica[]
  /** `unnamed`: it names no version, so a build that announces no replicas wrote it, or a user. */
  registered: 'absent' | 'unnamed' | 'named'
  /** For how long this replica has been the leader. */
  leaderForMs: number
  history: WriteHistory
  /** By a monotonic clock. */
  nowMs: number
}

/** The reasons to keep a registration of another version or configuration. */
export type KeepCause = 'otherReplicas' | 'unnamed' | 'reverted'

export interface KeptRegistration {
  kind: 'keep'
  cause: KeepCause
  message: string
}

export type Turn = { kind: 'replace' } | KeptRegistration

/** A rolling update replaces the replicas of a build that announces none within this time. */
const UNNAMED_MS = 60_000
/** A change so soon after a write comes from another writer, and not from a user. */
const REVERTED_WITHIN_MS = 60_000
const FIRST_PAUSE_MS = 120_000
const LAST_PAUSE_MS = 600_000

/** The rules, in their order: the first one that applies decides. */
const RULES: readonly ((input: TurnInput) => Turn | undefined)[] = [
  ({ registered }) => (registered === 'absent' ? { kind: 'replace' } : undefined),
  ({ own, others }) => {
    const other = others.find((one) => one.version !== own.version || one.registration !== own.registration)
    return other && keep('otherReplicas', `until replica ${other.host} of ${describeDifference(own, other)} is gone`)
  },
  ({ registered, leaderForMs }) =>
    registered === 'unnamed' && leaderForMs < UNNAMED_MS
      ? keep(
          'unnamed',
          `until this replica leads for ${UNNAMED_MS / 1000} s, since replicas of an older version may be running`,
        )
      : undefined,
  ({ history, nowMs }) => {
    const pauseMs = currentPauseMs(history, nowMs)
    return pauseMs === undefined
      ? undefined
      : keep('reverted', `for ${pauseMs / 1000} s, since another client changes it after each write; ${STOP_OTHER}`)
  },
]

/** A GitOps tool does the same as another installation on the same API server, whose Lease is in another namespace. */
const STOP_OTHER = 'stop that client, or the other installation of Lodestone'

/** Returns how long writes pause now, since another client has changed the last one soon; undefined if they do not. */
function currentPauseMs({ revertedAtMs, reverts }: WriteHistory, nowMs: number): number | undefined {
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** (reverts - 1), LAST_PAUSE_MS)
  return revertedAtMs !== undefined && nowMs - revertedAtMs < pauseMs ? pauseMs : undefined
}

/** Decides about a registration that differs from the wanted one. */
export function registrationTurn(input: TurnInput): Turn {
  for (const rule of RULES) {
    const turn = rule(input)
    if (turn) return turn
  }
  return { kind: 'replace' }
}

/**
 * Returns why the registered CA is kept too, in a registration that is kept; undefined if it may be renewed. Two installations would write their CAs
 * in turns, and the API server could call neither of them.
 *
 * @param history of the CA alone
 */
export function keptCa(history: WriteHistory, nowMs: number): KeptRegistration | undefined {
  const pauseMs = currentPauseMs(history, nowMs)
  return pauseMs === undefined
    ? undefined
    : keep('reverted', `for ${pauseMs / 1000} s, since another client changes its CA after each write; ${STOP_OTHER}`)
}

/** Records what is registered now: as this leader wrote it, or not. */
export function observeRegistration(history: WriteHistory, isCurrent: boolean, nowMs: number): WriteHistory {
  const { writtenAtMs, revertedAtMs, reverts } = history
  if (writtenAtMs === undefined) return history
  const isSoon = nowMs - writtenAtMs < REVERTED_WITHIN_MS
  if (isCurrent) return isSoon ? history : { writtenAtMs, reverts: 0 }
  return isSoon && revertedAtMs === undefined ? { writtenAtMs, revertedAtMs: nowMs, reverts: reverts + 1 } : history
}

/** Records that this leader wrote the registration. */
export function recordWrite({ reverts }: WriteHistory, nowMs: number): WriteHistory {
  return { writtenAtMs: nowMs, reverts }
}

function keep(cause: KeepCause, until: string): KeptRegistration {
  return { kind: 'keep', cause, message: `the present registration is kept ${until}` }
}

function describeDifference(own: Replica, other: Replica): string {
  return own.version === other.version ? 'another configuration' : `version ${other.version}`
}
