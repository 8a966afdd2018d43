/** Repeats requests while the API server is not available, so that its restart does not end a command in the middle of its changes. */
import { type Clock, systemClock } from '../../base/time/clock.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { RequestError } from '../../store/cluster/api-error.ts'
import { repeated } from '../../store/cluster/repeated.ts'

/** How long one request is repeated. A kube-apiserver restarts within this time. */
const PATIENCE_MS = 60_000

/** When to give up. `clock`: default the clock of the system. */
export interface Patience {
  signal: AbortSignal
  clock?: Clock | undefined
}

/** Runs a request of a command, and again while the API server is not available. `run` has the same effect when it runs twice. */
export function patiently<T>(run: () => Promise<T>, { signal, clock = systemClock }: Patience): Promise<T> {
  return repeated(run, { signal, clock, patienceMs: PATIENCE_MS })
}

/**
 * Returns a connection whose requests are repeated. Each write must have the resource version that was read, so that the second of two equal ones
 * is a conflict. Streams are not repeated: a list starts over as a whole. Their errors become `RequestError`.
 */
export function repeating(connection: ApiConnection, patience: Patience): ApiConnection {
  return {
    ...connection,
    request: (...words) => patiently(() => connection.request(...words), patience),
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
