/** Lists all objects of a kind page by page, and passes on each object when it arrives. Only the last chunk is in memory. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { collectionPath, type K8sObject } from '../../../api/meta.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import { acceptFor } from '../../kinds/metadata-only.ts'
import type { ApiConnection } from '../api-connection.ts'
import { isExpired } from '../api-error.ts'
import { ListDecoder, type ListEnvelope } from './list-decoder.ts'
import { startWatchdog } from './watchdog.ts'

export interface ListOptions {
  /** Objects per page. Default 2,000. */
  pageSize?: number
  /** How long a page may send no byte. Default 60 s. */
  pageSilenceMs?: number
  /**
   * Reads objects of this namespace only; cluster-scoped kinds are read whole. A kind that the user may not list is then empty and
   * unavailable, while the others can be read.
   */
  namespace?: string | undefined
}

interface ListInput {
  connection: ApiConnection
  kind: Pick<KindCache, 'type' | 'metadataOnly'>
  clock: Clock
  options: ListOptions
  signal: AbortSignal
  /** Called before the first page, and again when the list starts over: earlier objects are void. */
  begin(): void
  add(raw: K8sObject): void
  /** Called when bytes arrive. */
  contact(): void
}

/**
 * For each page, an API server iterates over all remaining objects of the list (`ListPrefix` in its watch cache). With pages of 250
 * objects, this was a fifth of the work for 100,000 objects. Larger pages could exceed the server's timeout of a minute on a slow network.
 */
const DEFAULT_PAGE_SIZE = 2000
const DEFAULT_SILENCE_MS = 60_000
/** More pages than any etcd has. It ends the list of a server that sends continue tokens without end. */
const MAX_PAGES = 50_000
/** A list that expires more often has failed: the caller waits before it lists again. */
const MAX_RESTARTS = 3

/**
 * Lists a kind, and returns the resource version of the list, from which a watch continues. When a continue token has expired (410), the
 * list starts over immediately. Throws the errors of the connection.
 *
 * No `resourceVersion` is sent: with `0` an API server would answer from its cache and ignore `limit`.
 */
export async function listAll(input: ListInput): Promise<string> {
  for (let restarts = 0; ; restarts++) {
    try {
      input.begin()
      return await listOnce(input)
    } catch (error) {
      if (!(error instanceof ContinueExpiredError)) throw error
      if (restarts === MAX_RESTARTS) throw error.cause
    }
  }
}

class ContinueExpiredError extends Error {}

async function listOnce(input: ListInput): Promise<string> {
  let token: string | undefined
  for (let page = 0; page < MAX_PAGES; page++) {
    const { metadata } = await readPage(input, token)
    if (!metadata?.continue) {
      if (!metadata?.resourceVersion) throw new Error(`the list of ${input.kind.type.plural} has no resourceVersion`)
      return metadata.resourceVersion
    }
    if (metadata.continue === token) throw new Error(`the list of ${input.kind.type.plural} repeats its continue token`)
    token = metadata.continue
    // Handles requests that arrived meanwhile first, above all admission reviews.
    await nextTurn()
  }
  throw new Error(`the list of ${input.kind.type.plural} has more than ${MAX_PAGES} pages`)
}

async function readPage(input: ListInput, token: string | undefined): Promise<ListEnvelope> {
  const { connection, kind } = input
  const { pageSize = DEFAULT_PAGE_SIZE, pageSilenceMs: silenceMs = DEFAULT_SILENCE_MS, namespace } = input.options
  const query = { limit: pageSize, continue: token }
  const accept = acceptFor('PartialObjectMetadataList', kind.metadataOnly)
  const dead = new AbortController()
  const watchdog = startWatchdog(input.clock, silenceMs, () => dead.abort(new Error(`no byte for ${silenceMs} ms`)))
  const signal = AbortSignal.any([input.signal, dead.signal])
  try {
    const decoder = new ListDecoder()
    const path = collectionPath(kind.type, namespace)
    for await (const chunk of await connection.stream(path, { query, accept, signal })) {
      watchdog.fed()
      input.contact()
      for (const item of decoder.push(chunk)) input.add(item)
    }
    return decoder.end()
  } catch (error) {
    if (token !== undefined && isExpired(error)) throw new ContinueExpiredError('', { cause: error })
    throw error
  } finally {
    watchdog.stop()
    // After an invalid list, the rest of the response may still arrive.
    dead.abort()
  }
}
