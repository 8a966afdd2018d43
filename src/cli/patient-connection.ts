/** Repeats requests while the API server is not available, so that its restart does not end a command in the middle of its changes. */
import { setTimeout as sleep } from 'node:timers/promises'
import { backoffMs, equalJitter } from '../base/time/backoff.ts'
import type { ApiConnection } from '../store/cluster/api-connection.ts'
import { ApiError, RequestError } from '../store/cluster/api-error.ts'

/** How long one request is repeated. A kube-apiserver restarts within this time. */
const PATIENCE_MS = 60_000
const BACKOFF = { firstMs: 250, lastMs: 5000 }
/** The statuses of overload, of a proxy without a server, and of a server that starts. */
const PASSING = [429, 502, 503, 504]

/**
 * Runs a request, and again while the API server is not available: for a minute at most, and until `signal` aborts. `run` has the same effect
 * when it runs twice.
 */
export async function repeated<T>(run: () => Promise<T>, signal: AbortSignal): Promise<T> {
  const until = performance.now() + PATIENCE_MS
  for (let failures = 1; ; failures++) {
    try {
      return await run()
    } catch (error) {
      const delayMs = equalJitter(backoffMs(BACKOFF, failures), Math.random())
      const waitMs = Math.max(delayMs, error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0)
      if (!mayPass(error) || signal.aborted || performance.now() + waitMs >= until) throw error
      await sleep(waitMs, undefined, { signal })
    }
  }
}

function mayPass(error: unknown): boolean {
  return error instanceof ApiError ? PASSING.includes(error.status) : error instanceof RequestError
}

/**
 * Returns a connection whose requests are repeated. Each write must have the resource version that was read, so that the second of two equal ones
 * is a conflict. Streams are not repeated: a list starts over as a whole. Their errors become `RequestError`.
 */
export function repeating(connection: ApiConnection, signal: AbortSignal): ApiConnection {
  return {
    ...connection,
    request: (...words) => repeated(() => connection.request(...words), signal),
    stream: async (path, input) => named(await connection.stream(path, input), `GET ${path}`),
  }
}

async function* named(chunks: AsyncIterable<Uint8Array>, request: string): AsyncIterable<Uint8Array> {
  try {
    yield* chunks
  } catch (error) {
    throw new RequestError(`${request}: ${error instanceof Error ? error.message : String(error)}`, { cause: error })
  }
}
