/**
 * Sends queries to data systems in the background. Each system has its own queue and slots, so a failing system delays only its own
 * sources. Inside a system, the namespaces whose claims wait have their turns.
 */
import { defined } from '../../base/json.ts'
import { systemSign } from '../../core/data-source/error-code.ts'
import type { QueryResult } from '../../core/data-source/query-history.ts'
import { afterQuery, freeSlots, isFailing, NEW_RECORD } from '../../core/data-source/query-slots.ts'
import { LocalityError, type LocalityQuery, type System } from '../../locality/locality.ts'
import { FairQueue } from '../fair-queue.ts'

/** The end of a query: its result, or an error of the plugin that is not a `LocalityError`. */
export type QueryEnd = QueryResult | { kind: 'fault'; error: unknown }

export interface QueryRequest {
  system: System
  /** Identifies the query. Its retries have the same key. */
  key: string
  /** The namespaces of the claims that wait for the answer. */
  namespaces: readonly string[]
  /** Built when the query gets its slot. */
  query: () => LocalityQuery
  /** Receives the end of the query. Not called if the query was canceled. */
  done(end: QueryEnd): void
}

/** A query that waits or runs. */
export interface SentQuery {
  /** Cancels it: a waiting query is removed, and the result of a running one is ignored. */
  cancel(): void
  /** Adds namespaces whose claims wait for the answer too. */
  share(namespaces: readonly string[]): void
}

export interface SystemQueries {
  /** Adds a query to the queue of its system. */
  send(request: QueryRequest): SentQuery
  /** Starts the queries that may start now, for example after a health check. */
  resume(system: System): void
  /** Whether a system is failing and therefore gets one query at a time. */
  isFailing(system: System): boolean
}

export interface SystemQueriesInput {
  /** Milliseconds since the epoch. */
  now: () => number
  /** Cancels every query and every timer. */
  signal: AbortSignal
  /** Reports the end of a query; `result` is the kind of its answer or the code of its error. */
  observe(system: string, seconds: number, result: string): void
}

/** Opens the queues, empty. */
export function openSystemQueries(input: SystemQueriesInput): SystemQueries {
  const queues = new WeakMap<System, SystemQueue>()
  // One listener for all systems: those of an earlier configuration would stay as long as the signal.
  const timers = new Set<NodeJS.Timeout>()
  input.signal.addEventListener('abort', () => timers.forEach(clearTimeout), { once: true })
  const queueFor = (system: System) => {
    const queue = queues.get(system) ?? openQueue(system, timers, input)
    queues.set(system, queue)
    return queue
  }
  return {
    send: (request) => queueFor(request.system).add(request),
    resume: (system) => queueFor(system).resume(),
    isFailing: (system) => queueFor(system).isFailing(),
  }
}

interface SystemQueue {
  add(request: QueryRequest): SentQuery
  resume(): void
  isFailing(): boolean
}

/** @param timers those of all queues that wait */
function openQueue(
  system: System,
  timers: Set<NodeJS.Timeout>,
  { now, signal, observe }: SystemQueriesInput,
): SystemQueue {
  const waiting = new FairQueue<QueryRequest>()
  const canceled = new WeakSet<QueryRequest>()
  let record = NEW_RECORD
  let running = 0
  let timer: NodeJS.Timeout | undefined

  function resume(): void {
    clearTimeout(timer)
    if (timer) timers.delete(timer)
    timer = undefined
    if (signal.aborted || waiting.size === 0) return
    const { health, maxConcurrent } = system
    const { free, waitMs } = freeSlots({ record, health, maxConcurrent, running, now: now() })
    if (waitMs !== undefined) {
      timer = setTimeout(resume, waitMs)
      timers.add(timer)
    }
    for (let left = free; left > 0; left--) {
      const request = waiting.take()
      if (request) void run(request)
    }
  }

  async function run(request: QueryRequest): Promise<void> {
    running++
    const started = performance.now()
    const end = await locate(system, request.query(), signal)
    running--
    if (signal.aborted) return
    const code = end.kind === 'failed' ? end.code : undefined
    if (end.kind !== 'fault') {
      observe(system.plugin.system, (performance.now() - started) / 1000, code ?? end.kind)
      const retryAfterMs = end.kind === 'failed' ? end.retryAfterMs : undefined
      record = afterQuery(record, systemSign(code), {
        key: request.key,
        now: now(),
        health: system.health,
        retryAfterMs,
      })
    }
    if (!canceled.has(request)) request.done(end)
    resume()
  }

  return {
    add(request) {
      waiting.add(request, request.namespaces)
      resume()
      return {
        cancel() {
          canceled.add(request)
          waiting.delete(request)
        },
        share(namespaces) {
          if (waiting.has(request)) waiting.add(request, namespaces)
        },
      }
    },
    resume,
    isFailing: () => isFailing(record, system.health),
  }
}

async function locate(system: System, query: LocalityQuery, signal: AbortSignal): Promise<QueryEnd> {
  try {
    const answer = await system.plugin.locate(query, signal)
    if (answer.kind !== 'located') return answer
    const clusters = system.clustersOf(answer)
    return { ...answer, clusters, ...(clusters.length === 0 && { whyNoCluster: system.whyNoCluster(answer) }) }
  } catch (error) {
    if (!(error instanceof LocalityError)) return { kind: 'fault', error }
    const { code, message, retryAfterMs } = error
    const reason = `${system.plugin.system}: ${message}`
    return defined({ kind: 'failed', code, reason, retryAfterMs })
  }
}
