/** Lists the objects of a place, page by page, and checks what the server lists. */
import { isCount } from '../../base/json.ts'
import type { ListedObject, ObjectPlace } from '../../base/objects.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from './object-store.ts'

/** Lists the one object of a place, or all objects below its prefix. */
export async function* listObjects(
  store: ObjectStore,
  { key, recursive }: ObjectPlace,
  signal: AbortSignal,
): AsyncGenerator<ListedObject> {
  if (recursive) return yield* listBelow(store, key, signal)
  // Credentials that can read an object may be forbidden to list the bucket.
  const headers = await store.head(key, signal)
  const length = headers['content-length'] ?? ''
  const size = /^\d{1,16}$/.test(length) ? Number(length) : Number.NaN
  if (!isCount(size)) {
    throw new MoverError('Rejected', `${store.objectUri(key)}: the server sends no valid content-length`)
  }
  yield { key, size, etag: (headers['etag'] ?? '').replace(/^(?:W\/)?"|"$/g, '') }
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
      throw refuse(`the server lists ${JSON.stringify(foreign.key.slice(0, 200))}, which is not below ${prefix}`)
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
