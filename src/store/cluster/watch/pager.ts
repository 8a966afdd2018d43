/** Lists a whole kind page by page and passes each object on as it arrives: only the bytes of the last chunk are in memory. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { collectionPath, type K8sObject } from '../../../api/meta.ts'
import type { Clock } from '../../../time/clock.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import type { ApiConnection } from '../api-connection.ts'
import { isExpired } from '../api-error.ts'
import { ListDecoder, type ListEnvelope } from './list-decoder.ts'
import { acceptFor } from './metadata.ts'
import { startWatchdog } from './watchdog.ts'

export interface ListOptions {
  /** Objects per page. Default 2,000. */
  pageSize?: number
  /** A page without a byte for this long is given up. Default 60 s. */
  pageSilenceMs?: number
}

interface ListInput {
  connection: ApiConnection
  kind: Pick<KindCache, 'type' | 'metadataOnly'>
  clock: Clock
  options: ListOptions
  signal: AbortSignal
  /** Called before the first page, and again when the list has to begin anew: what came before is void. */
  begin(): void
  add(raw: K8sObject): void
  /** Bytes have arrived. */
  contact(): void
}

/**
 * For each page an API server goes over all objects from there to the end of the list (`ListPrefix` in its watch cache). For 100,000
 * objects and 250 a page, that was a fifth of its work. But every page has to be sent before the server's own limit of a minute, also over
 * a slow line.
 */
const DEFAULT_PAGE_SIZE = 2000
const DEFAULT_SILENCE_MS = 60_000
/** More pages than any etcd holds: a server that hands out continue tokens for ever must not keep us for ever. */
const MAX_PAGES = 50_000
/** A list that expires again and again is as good as failed: the caller waits before it tries anew. */
const MAX_RESTARTS = 3

/**
 * Lists a kind from the start; returns the resource version that the list shows, for a watch to go on from. A continue token
 * that expired (410) begins the list anew, without a pause. Throws what the connection throws.
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
    if (metadata.continue === token) throw new Error(`the list of ${input.kind.type.plural} does not go on`)
    token = metadata.continue
    // What came in over the network meanwhile, admissions above all, goes first.
    await nextTurn()
  }
  throw new Error(`the list of ${input.kind.type.plural} has more than ${MAX_PAGES} pages`)
}

async function readPage(input: ListInput, token: string | undefined): Promise<ListEnvelope> {
  const { connection, kind } = input
  const { pageSize = DEFAULT_PAGE_SIZE, pageSilenceMs: silenceMs = DEFAULT_SILENCE_MS } = input.options
  const query = { limit: pageSize, continue: token }
  const accept = acceptFor('PartialObjectMetadataList', kind.metadataOnly)
  const dead = new AbortController()
  const watchdog = startWatchdog(input.clock, silenceMs, () => dead.abort(new Error(`no byte for ${silenceMs} ms`)))
  const signal = AbortSignal.any([input.signal, dead.signal])
  try {
    const decoder = new ListDecoder()
    for await (const chunk of await connection.stream(collectionPath(kind.type), { query, accept, signal })) {
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
    // After what is no list, the rest of it may still be on its way.
    dead.abort()
  }
}
