/** Fetches a range of an object into a sink. After a failure, it resumes at the first missing byte. */
import { defined } from '../../base/json.ts'
import type { ListedObject } from '../../base/objects.ts'
import { RequestBackoff, RetryableError, type RetryOptions, withRetries } from '../http/backoff.ts'
import type { HttpResponse, Sink } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { type ObjectStore, type ReadHeaders, unquoteEtag } from './object-store.ts'

export interface Range {
  start: number
  /** Exclusive. */
  end: number
}

/** The rest of an object cannot be requested: the server ignores ranges, or sends them without an ETag. Only a whole object is safe. */
export class UnvalidatedRangeError extends Error {
  override name = 'UnvalidatedRangeError'
}

/** Repeats the fetch of a whole object from its first byte when its rest cannot be requested, as often as a request is retried. */
export function fromTheStart<T>(retry: RetryOptions, signal: AbortSignal, fetch: () => Promise<T>): Promise<T> {
  return withRetries(retry, signal, () =>
    fetch().catch((error: unknown) => {
      throw error instanceof UnvalidatedRangeError ? new RetryableError(error.message, { cause: error }) : error
    }),
  )
}

/** The server decodes the object on the way, and the request did not accept the encoding with which it is stored. */
class DecodedError extends Error {}

/** The server sends more or fewer bytes than it listed: the object changed, or the server decodes it on the way. */
class OtherSizeError extends MoverError {}

/**
 * Fetches the bytes of a range. The sink receives each byte exactly once, in order.
 *
 * @param begin called with the headers of the first response, before any byte.
 * @throws MoverError `SourceChanged` when the object differs from the listed one. `Rejected` when the server sends other bytes than it
 * stores. `UnvalidatedRangeError` for a range without an ETag.
 */
export async function fetchRange(
  store: ObjectStore,
  object: ListedObject,
  { start, end }: Range,
  sink: Sink,
  signal: AbortSignal,
  begin?: (headers: HttpResponse['headers']) => void,
): Promise<void> {
  const backoff = new RequestBackoff(store.retry)
  let at = start
  let hasBegun = false
  let { etag } = object
  let asStored = false
  let isConditional = true
  let isNamed = true
  const what = store.objectUri(object.key)

  for (;;) {
    const begun = at
    try {
      const isWhole = at === 0 && end === object.size
      const request = headersFor({ ...object, etag: isConditional ? etag : '' }, { isWhole, at, end, asStored })
      const answer = await store.get(object.key, request, signal, ({ status, headers }) => {
        if (status !== 200 && status !== 206) return undefined
        if (!asStored && isDecodedOnTheWay({ ...object, etag }, headers)) throw new DecodedError(what)
        checkAnswer(what, { ...object, etag }, { status, headers }, at, { start, end })
        if (!hasBegun) begin?.(headers)
        hasBegun = true
        isNamed = headers['etag'] !== undefined
        // A listing without ETags: the rest of the object must have the ETag of its first bytes.
        if (etag === '') etag = unquoteEtag(headers['etag'])
        return (chunk) => {
          if (at + chunk.length > end) throw new OtherSizeError('SourceChanged', `${what} has ${LONGER}`)
          at += chunk.length
          sink(chunk)
        }
      })
      if (answer.status === 412 && isConditional && (await isUnchanged(store, { ...object, etag }, signal))) {
        isConditional = false
        continue
      }
      if (answer.status !== 200 && answer.status !== 206) throw refusal(store, object.key, answer)
      if (at < end) throw new RetryableError(`${what}: the body ended after ${at - begun} bytes`)
      return
    } catch (error) {
      // The connection failed after the last byte. A request for the empty rest would be answered with the whole object.
      if (at === end && error instanceof RetryableError) return
      // Without an ETag, the first bytes may be those of a page of a proxy. The rest of the object must not follow them.
      if (at > begun && !isNamed && error instanceof RetryableError)
        throw new UnvalidatedRangeError(`${error.message}; the response has no ETag`, { cause: error })
      if (at > begun) backoff.reset()
      if (error instanceof DecodedError) {
        asStored = true
        continue
      }
      if (error instanceof OtherSizeError) throw await findSizeCause(store, object, error, signal)
      await backoff.wait(error, signal)
    }
  }
}

const LONGER = 'changed since it was listed: the server sends more bytes than its size'

/**
 * Whether the server decoded an object that is stored with Content-Encoding. GCS does that unless the request accepts gzip, and ignores
 * ranges then (Transcoding of gzip-compressed files).
 */
function isDecodedOnTheWay({ size, etag }: ListedObject, headers: HttpResponse['headers']): boolean {
  const stored = headers['x-goog-stored-content-encoding'] ?? 'identity'
  if (stored !== 'identity' && headers['content-encoding'] === undefined) return true
  return etag !== '' && unquoteEtag(headers['etag']) === etag && Number(headers['content-length']) > size
}

/** Tells an object that changed from a server that sends other bytes than it stores: then another attempt receives the same. */
async function findSizeCause(
  store: ObjectStore,
  { key, etag }: ListedObject,
  error: OtherSizeError,
  signal: AbortSignal,
) {
  if (!(await isUnchanged(store, { key, etag }, signal))) return error
  const message =
    'the server sends other bytes than it stores, because it decodes or encodes objects on the way; ' +
    'store the object without Content-Encoding, or leave it out with exclude'
  return new MoverError('Rejected', `${store.objectUri(key)}: ${message}`, { cause: error })
}

/** Whether an object still has its ETag. SeaweedFS 3.97 refused If-Match with the ETag of the object; its response to GET has the ETag as well. */
async function isUnchanged(
  store: ObjectStore,
  { key, etag }: Pick<ListedObject, 'key' | 'etag'>,
  signal: AbortSignal,
): Promise<boolean> {
  const headers = await store.head(key, signal).catch((failed: unknown) => {
    if (failed instanceof MoverError) return undefined
    throw failed
  })
  return etag !== '' && unquoteEtag(headers?.['etag']) === etag
}

function headersFor(
  { etag }: ListedObject,
  { isWhole, at, end, asStored }: { isWhole: boolean; at: number; end: number; asStored: boolean },
): ReadHeaders {
  return defined({
    range: isWhole ? undefined : `bytes=${at}-${end - 1}`,
    'if-match': etag === '' ? undefined : `"${etag}"`,
    'accept-encoding': asStored ? 'gzip' : undefined,
  })
}

/** The error for a response without data. An object that is missing although it was listed has changed; the next attempt lists it again. */
function refusal(store: ObjectStore, key: string, answer: HttpResponse) {
  return store.isObjectMissing(answer) ? changed(store.objectUri(key), 'it was deleted') : store.errorOf(key, answer)
}

function checkAnswer(
  what: string,
  { size, etag }: ListedObject,
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  at: number,
  { start, end }: Range,
): void {
  const received = headers['etag'] === undefined ? undefined : unquoteEtag(headers['etag'])
  // Not every server supports If-Match.
  if (etag !== '' && received !== undefined && received !== etag) throw changed(what, 'its ETag changed')
  const length = headers['content-length']
  if (status === 200) {
    const isWhole = at === 0 && end === size
    // A server that shuts down may ignore ranges although it supports them (Versity S3 Gateway).
    if (!isWhole && headers['accept-ranges'] === 'bytes')
      throw new RetryableError(`${what}: the server ignored the range`)
    if (!isWhole && start === 0 && end === size)
      throw new UnvalidatedRangeError(`${what}: the body ended early, and the server does not support ranges`)
    if (!isWhole) throw new MoverError('Rejected', `${what}: the server does not support ranges`)
    // The same ETag with fewer bytes is the same object: the rest is requested as after a broken connection.
    const isCutOff = etag !== '' && received === etag && Number(length) < size
    if (length !== undefined && Number(length) !== size && !isCutOff) throw otherSize(what)
    return
  }
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '')
  if (range === null || Number(range[1]) !== at || Number(range[2]) !== end - 1) {
    const wanted = `bytes ${at}-${end - 1}/${size}`
    const received = headers['content-range'] ?? 'no content-range'
    throw new MoverError('Rejected', `${what}: requested ${wanted}, received ${received}`)
  }
  if (range[3] !== '*' && Number(range[3]) !== size) throw otherSize(what)
  if (!received) throw new UnvalidatedRangeError(`${what}: the server sends a range without an ETag`)
}

function otherSize(what: string): OtherSizeError {
  return new OtherSizeError('SourceChanged', `${what} has changed since it was listed: its size changed`)
}

function changed(what: string, how: string): MoverError {
  return new MoverError('SourceChanged', `${what} has changed since it was listed: ${how}`)
}
