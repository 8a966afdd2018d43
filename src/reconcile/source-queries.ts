/** The state of each source between two runs: its query under way, what is known of it, and an answer that is not written yet. */
import type { DataSource } from '../api/data-source.ts'
import { dueAt, spreadOf } from '../core/data-source/due.ts'
import { afterResult, NEW_MEMORY, type SourceMemory } from '../core/data-source/memory.ts'
import type { Attempt } from '../core/data-source/plan.ts'
import { sourceKeyOfSource } from '../core/data-source-claim/keys.ts'
import type { LocalityQuery, System } from '../locality/plugins/plugin.ts'
import type { QueryEnd, SystemQueries } from './system-queries.ts'

/** Lost with the process, which costs one query for each source. */
export interface SourceState {
  /** What is asked, so that a source that was edited begins anew. */
  readonly question: string
  /** The system that was asked last. */
  system?: System
  memory: SourceMemory
  /** Cancels the query that waits or is under way. */
  cancel?: (() => void) | undefined
  /** An answer that is not written yet: a write that failed must not cost another query. */
  unwritten?: Attempt | undefined
  /** What a plugin threw that it must not throw. */
  fault?: { error: unknown } | undefined
  /** Until when a source that was deleted gets no successor, in ms since the epoch. */
  absentUntil?: number
}

export function newState(source: DataSource): SourceState {
  return { question: sourceKeyOfSource(source), memory: NEW_MEMORY }
}

/** A system with a new configuration may know better where data is, and may do what failed before: it is asked at once. */
export function meetSystem(state: SourceState, system: System | undefined, now: number): void {
  if (system === undefined || state.system === system) return
  if (state.system !== undefined) {
    state.cancel?.()
    state.cancel = undefined
    const { etag: _old, ...memory } = state.memory
    state.memory = { ...memory, failures: 0, nextAt: now }
  }
  state.system = system
}

export interface AskInput {
  source: DataSource
  state: SourceState
  system: System
  queries: SystemQueries
  now: () => number
  /** Called after the result has been added to the state. */
  done(): void
}

/** Sends the query of a source, unless one is under way or an answer waits to be written. */
export function askWhenDue({ source, state, system, queries, now, done }: AskInput, intervalMs: number): void {
  const hasAnswer = state.unwritten !== undefined && state.unwritten.kind !== 'failed'
  if (state.cancel !== undefined) queries.resume(system)
  else if (!hasAnswer && now() >= dueAt(source, state.memory, intervalMs)) {
    const query = () => queryOf(source, state.memory)
    state.cancel = queries.send({ system, query, done: (end) => take(end) })
  }

  function take(end: QueryEnd): void {
    state.cancel = undefined
    if (end.kind === 'fault') {
      state.fault = { error: end.error }
    } else {
      const { refreshIntervalMs, retry } = system
      const isLocated = source.spec.locality !== undefined
      const spread = spreadOf(source.metadata.name ?? '')
      const after = afterResult(state.memory, end, { now: now(), isLocated, refreshIntervalMs, retry, spread })
      state.memory = after.memory
      state.unwritten = after.attempt ?? state.unwritten
    }
    done()
  }
}

/** A version is only of use while its answer is stored, and stays. */
function queryOf({ metadata, spec }: DataSource, { etag }: SourceMemory): LocalityQuery {
  const { type, name, attributes = {}, locality } = spec
  return { type, name, attributes, ...(etag && locality && !metadata.deletionTimestamp && { etag }) }
}
