/** The memory of the loop of DataSources between two reconciles, and the queries that its plans send and cancel. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { Attempt } from '../../core/data-source/attempt.ts'
import { hashFraction, tooOldAt } from '../../core/data-source/due.ts'
import type { SourcePlan } from '../../core/data-source/plan.ts'
import {
  afterNewConfiguration,
  afterResult,
  NO_HISTORY,
  nextQuery,
  type QueryHistory,
} from '../../core/data-source/query-history.ts'
import { queryKey } from '../../core/data-source-claim/keys.ts'
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

/** By the name of the source. */
export type SourceStates = Map<string, SourceState>

/** A source, its permitted claims, and its data system; undefined if no system with its name is configured. */
export interface FoundSource {
  source: DataSource
  claims: readonly DataSourceClaim[]
  system: System | undefined
}

/**
 * Returns the state of a source. A new query resets it, and a new configuration of the system cancels the query of the old one.
 *
 * @throws the error of a plugin that is not a `LocalityError`, once: the controller logs it and retries
 */
export function observeSource(
  states: SourceStates,
  name: string,
  { source, system }: FoundSource,
  now: number,
): SourceState {
  const key = queryKey(source.spec)
  if (states.get(name)?.key !== key) forgetSource(states, name)
  const state: SourceState = states.get(name) ?? { key, history: NO_HISTORY }
  states.set(name, state)
  if (system) setSystem(state, system, now)
  const { fault } = state
  state.fault = undefined
  if (fault) throw fault.error
  return state
}

/** Forgets the state of a source, and cancels its query. */
export function forgetSource(states: SourceStates, name: string): void {
  states.get(name)?.sent?.cancel()
  states.delete(name)
}

function setSystem(state: SourceState, system: System, now: number): void {
  if (state.system === system) return
  if (state.system !== undefined) {
    cancelQuery(state)
    state.history = afterNewConfiguration(state.history, now)
  }
  state.system = system
}

function cancelQuery(state: SourceState): void {
  state.sent?.cancel()
  state.sent = undefined
}

export interface QueryInput {
  found: FoundSource
  state: SourceState
  queries: SystemQueries
  /** Milliseconds since the epoch. */
  now: () => number
  /** Called after the result has been added to the state. */
  done(): void
}

/** Applies what a plan does to the query of a source. Only a source with a data system has a query to resume or to send. */
export function applyQuery(query: SourcePlan['query'], { found, ...input }: QueryInput): void {
  const { source, claims, system } = found
  const { state, queries } = input
  if (query === 'cancel') cancelQuery(state)
  if (!system) return
  const namespaces = claims.flatMap(({ metadata }) => metadata.namespace ?? [])
  if (query === 'resume') {
    state.sent?.share(namespaces)
    queries.resume(system)
  }
  if (query === 'send') sendQuery({ ...input, source, claims, system, namespaces })
}

interface SendInput extends Omit<QueryInput, 'found'> {
  source: DataSource
  claims: readonly DataSourceClaim[]
  system: System
  /** Those of the claims that wait for the answer. */
  namespaces: readonly string[]
}

function sendQuery({ source, claims, state, system, queries, namespaces, now, done }: SendInput): void {
  const query = () => nextQuery(source, state.history)
  state.sent = queries.send({ system, key: state.key, namespaces, query, done: addResult })

  function addResult(end: QueryEnd): void {
    state.sent = undefined
    if (end.kind === 'fault') {
      state.fault = { error: end.error }
    } else {
      const { refreshIntervalMs, retry } = system
      const isLocated = source.spec.locality !== undefined
      const isTooOld = now() >= tooOldAt(source, claims)
      const spread = hashFraction(source.metadata.name ?? '')
      const after = afterResult(state.history, end, {
        now: now(),
        isLocated,
        isTooOld,
        refreshIntervalMs,
        retry,
        spread,
      })
      state.history = after.history
      state.attempt = after.attempt ?? state.attempt
    }
    done()
  }
}
