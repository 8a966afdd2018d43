/** The state of each DataSource between two reconciles, and the query of one. */
import type { DataSource } from '../api/data-source.ts'
import { spreadOf } from '../core/data-source/due.ts'
import type { Attempt } from '../core/data-source/plan.ts'
import {
  afterNewConfiguration,
  afterResult,
  NO_HISTORY,
  nextQuery,
  type QueryHistory,
} from '../core/data-source/query-history.ts'
import { sourceKeyOfSource } from '../core/data-source-claim/keys.ts'
import type { System } from '../locality/plugins/plugin.ts'
import type { QueryEnd, SystemQueries } from './system-queries.ts'

/** Kept in memory only: after a restart, each source is queried once more. */
export interface SourceState {
  /** The key of the query: the state of a source with an edited query starts anew. */
  readonly key: string
  /** The system of the last reconcile. */
  system?: System
  history: QueryHistory
  /** Cancels the query that waits or is in progress. */
  cancel?: (() => void) | undefined
  /** An answer or failure that is not in the status yet. */
  attempt?: Attempt | undefined
  /** An error of a plugin that is no `LocalityError`. */
  fault?: { error: unknown } | undefined
  /** Until when no source of this name is created, in ms since the epoch. */
  absentUntil?: number
}

export function newState(source: DataSource): SourceState {
  return { key: sourceKeyOfSource(source), history: NO_HISTORY }
}

/** Cancels the query of a source, where there is one. */
export function cancelQuery(state: SourceState): void {
  state.cancel?.()
  state.cancel = undefined
}

/** Takes the system of this reconcile into the state. A new configuration cancels the query of the old one. */
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
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called after the result has been added to the state. */
  done(): void
}

/** Sends the query of a source. */
export function sendQuery({ source, state, system, queries, now, done }: SendInput): void {
  const query = () => nextQuery(source, state.history)
  state.cancel = queries.send({ system, query, done: addResult })

  function addResult(end: QueryEnd): void {
    state.cancel = undefined
    if (end.kind === 'fault') {
      state.fault = { error: end.error }
    } else {
      const { refreshIntervalMs, retry } = system
      const isLocated = source.spec.locality !== undefined
      const spread = spreadOf(source.metadata.name ?? '')
      const after = afterResult(state.history, end, { now: now(), isLocated, refreshIntervalMs, retry, spread })
      state.history = after.history
      state.attempt = after.attempt ?? state.attempt
    }
    done()
  }
}
