/** Reads a whole kind page by page and hands on every object as it comes, so that no two raw pages are in memory at once. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import { collectionPath, type K8sObject } from '../api/meta.ts'
import type { Connection } from './api-connection.ts'
import { isExpired } from './api-error.ts'
import type { HeldKind } from './cached-store.ts'
import { acceptFor } from './metadata.ts'

interface ListInput {
  connection: Connection
  kind: Pick<HeldKind, 'type' | 'metadataOnly'>
  /** Objects per page. A page is parsed at once, so it decides how long an admission may have to wait. */
  pageSize: number
  pageTimeoutMs: number
  signal: AbortSignal
  /** Called before the first page, and again when the list has to begin anew: what came before is void. */
  begin(): void
  add(raw: K8sObject): void
  /** Called when a page has arrived. */
  contact(): void
}

/** More pages than any etcd holds: a server that hands out continue tokens for ever must not keep us for ever. */
const MAX_PAGES = 50_000
/** A list that expires again and again is as good as failed: the caller waits before it tries anew. */
const MAX_RESTARTS = 3

interface ObjectList {
  metadata?: { resourceVersion?: string; continue?: string }
  items?: K8sObject[] | null
}

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
    const { items, metadata } = await readPage(input, token)
    input.contact()
    for (const item of items ?? []) input.add(item)
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

async function readPage(input: ListInput, token: string | undefined): Promise<ObjectList> {
  const query = { limit: input.pageSize, continue: token }
  const accept = acceptFor('PartialObjectMetadataList', input.kind.metadataOnly)
  const options = { query, accept, signal: input.signal, timeoutMs: input.pageTimeoutMs }
  try {
    const page = await input.connection.request('GET', collectionPath(input.kind.type), options)
    if (typeof page !== 'object' || page === null) throw new Error(`the list of ${input.kind.type.plural} is no object`)
    return page
  } catch (error) {
    if (token !== undefined && isExpired(error)) throw new ContinueExpiredError('', { cause: error })
    throw error
  }
}
