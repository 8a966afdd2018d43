/** The state of each DataSource between two reconciles, and the sending of its query. */
import type { DataSource } from '../../api/data-source.ts'
import type { Attempt } from '../../core/data-source/attempt.ts'
import { hashFraction } from '../../core/data-source/due.ts'
import {
  afterNewConfiguration,
  afterResult,
  NO_HISTORY,
  nextQuery,
  type QueryHistory,
} from '../../core/data-source/query-history.ts'
import { sourceKeyOfSource } from '../../core/data-source-claim/keys.ts'
import type { System } from '../../locality/locality.ts'
import type { QueryEnd, SentQuery, SystemQueries } from './system-queries.ts'

/** In memory only: after a restart, each source is queried once more. */
export interface SourceState {
  /** The key of the query. If the query of a source changes, its state is reset. */
  readonly key: string
  /** The system of the last reconcile. */
  system?: System
  history: QueryHistory
  /** The query that is waiting or in progress. */
  sent?: SentQuery | undefined
  /** The result of the last query, if the status does not have it yet. */
  attempt?: Attempt | undefined
  /** An error of a plugin that is not a `LocalityError`. */
  fault?: { error: unknown } | undefined
  /** Until then, no source with this name is created; in ms since the epoch. */
  absentUntil?: number
}

export function newState(source: DataSource): SourceState {
  return { key: sourceKeyOfSource(source), history: NO_HISTORY }
}

export function cancelQuery(state: SourceState): void {
  state.sent?.cancel()
  state.sent = undefined
}

/** Stores the system of this reconcile in the state. A new configuration cancels the query of the old one. */
export function setSystem(state: SourceState, system: System | undefined, now: number): void {
  if (system === undefined || state.system === system) return
  if (state.system !== undefined) {
    cancelQuery(state)
    state.history = afterNewConfiguration(state.history, now)
  }
  state.system = system
}

export interface SendInput {
  source: DataSource
  state: SourceState
  system: System
  queries: SystemQueries
  /** Those of the claims that wait for the answer. */
  namespaces: readonly string[]
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called after the result has been added to the state. */
  done(): void
}

/** Sends the query of a source. */
export function sendQuery({ source, state, system, queries, namespaces, now, done }: SendInput): void {
  const query = () => nextQuery(source, state.history)
  state.sent = queries.send({ system, key: state.key, namespaces, query, done: addResult })

  function addResult(end: QueryEnd): void {
    state.sent = undefined
    if (end.kind === 'fault') {
      state.fault = { error: end.error }
    } else {
      const { refreshIntervalMs, retry } = system
      const isLocated = source.spec.locality !== undefined
      const spread = hashFraction(source.metadata.name ?? '')
      const after = afterResult(state.history, end, { now: now(), isLocated, refreshIntervalMs, retry, spread })
      state.history = after.history
      state.attempt = after.attempt ?? state.attempt
    }
    done()
  }
}
