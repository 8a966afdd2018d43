/** Lists the objects of a place, page by page, and checks what the server lists. */
import { firstCharacters } from '../../base/first-characters.ts'
import type { ListedObject, ObjectPlace } from '../../base/objects.ts'
import { parseSize } from '../../base/quantity.ts'
import { withRetries } from '../http/backoff.ts'
import { MoverError } from '../mover-error.ts'
import { type ObjectStore, unquoteEtag } from './object-store.ts'

/** Lists the one object of a place, or all objects below its prefix. */
export async function* listObjects(
  store: ObjectStore,
  { key, recursive }: ObjectPlace,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  if (recursive) return yield* listBelow(store, key, signal)
  // Credentials that can read an object may be forbidden to list the bucket.
  const headers = await store.head(key, signal)
  // GCS and proxies send no length of an object that they may decode or compress on the way.
  const listed = parseSize(headers['content-length']) ?? parseSize(headers['x-goog-stored-content-length'])
  const size = listed ?? (await sizeOfRange(store, key, signal))
  yield { key, size, etag: unquoteEtag(headers['etag']) }
}

/** The size of an object by the response to a request for its first byte. */
async function sizeOfRange(store: ObjectStore, key: string, signal: AbortSignal): Promise<number> {
  const noSize = new MoverError('Rejected', `${store.objectUri(key)}: the server sends no valid content-length`)
  return withRetries(store.retry, signal, async () => {
    const answer = await store.get(key, { range: 'bytes=0-0' }, signal, ({ status }) => {
      // The object itself is not read.
      if (status === 200) throw noSize
      return status === 206 ? () => undefined : undefined
    })
    if (answer.status >= 300) throw store.errorOf(key, answer)
    const size = parseSize(/^bytes 0-0\/(\d+)$/.exec(answer.headers['content-range'] ?? '')?.[1])
    if (size === undefined) throw noSize
    return size
  })
}

/** The most pages without an object in a row. S3 sends a few after many objects were deleted; a server that sends more is broken. */
const MAX_EMPTY_PAGES = 1000
/** The most objects of one listing. A mover keeps some bytes of each object in memory. */
const MAX_LISTED = 10_000_000

/** Lists all objects below a prefix, page by page. Throws `Rejected` for a listing that is invalid or too long. */
async function* listBelow(store: ObjectStore, prefix: string, signal: AbortSignal): AsyncGenerator<ListedObject> {
  let token: string | undefined
  let [listed, empty] = [0, 0]
  const refuse = (message: string) => new MoverError('Rejected', `${store.objectUri('')}: ${message}`)
  do {
    const page = await store.list(prefix, token, signal)
    const foreign = page.objects.find(({ key }) => !key.startsWith(prefix))
    if (foreign)
      throw refuse(
        `the server lists ${JSON.stringify(firstCharacters(foreign.key, 200))}, which is not below ${prefix}`,
      )
    listed += page.objects.length
    empty = page.objects.length === 0 ? empty + 1 : 0
    if (listed > MAX_LISTED) throw refuse(`the listing has more than ${MAX_LISTED} objects; name a longer prefix`)
    if (empty > MAX_EMPTY_PAGES)
      throw refuse(`the listing has more than ${MAX_EMPTY_PAGES} pages in a row without an object`)
    yield* page.objects
    if (page.next !== undefined && page.next === token) throw refuse('the server repeats a page of the listing')
    token = page.next
  } while (token !== undefined)
}
