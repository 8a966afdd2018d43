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
export function fetchRange(
  store: ObjectStore,
  object: ListedObject,
  range: Range,
  sink: Sink,
  signal: AbortSignal,
  begin?: (headers: HttpResponse['headers']) => void,
): Promise<void> {
  return new RangeFetch(store, object, range, sink, begin).run(signal)
}

/** The fetch of one range: what was received so far, and how the next request asks for the rest. */
class RangeFetch {
  readonly #store: ObjectStore
  readonly #listed: ListedObject
  /** The listed object. If the listing has no ETag, the rest must have that of the first bytes. */
  #expected: ListedObject
  readonly #range: Range
  readonly #sink: Sink
  readonly #begin: ((headers: HttpResponse['headers']) => void) | undefined
  readonly #what: string
  /** The first byte that is missing. */
  #at: number
  #hasBegun = false
  /** Whether the last response had an ETag. */
  #isNamed = true
  /** Whether requests have If-Match. */
  #isConditional = true
  /** Whether requests accept the encoding with which the object is stored. */
  #asStored = false

  constructor(
    store: ObjectStore,
    object: ListedObject,
    range: Range,
    sink: Sink,
    begin: ((headers: HttpResponse['headers']) => void) | undefined,
  ) {
    this.#store = store
    this.#listed = object
    this.#expected = object
    this.#range = range
    this.#sink = sink
    this.#begin = begin
    this.#what = store.objectUri(object.key)
    this.#at = range.start
  }

  async run(signal: AbortSignal): Promise<void> {
    const backoff = new RequestBackoff(this.#store.retry)
    for (;;) {
      const begun = this.#at
      try {
        if (await this.#request(signal)) return
      } catch (error) {
        const isRetryable = error instanceof RetryableError
        // The connection failed after the last byte. A request for the empty rest would be answered with the whole object.
        if (isRetryable && this.#at === this.#range.end) return
        const hasReceived = this.#at > begun
        // Without an ETag, the first bytes may be those of a page of a proxy. The rest of the object must not follow them.
        if (isRetryable && hasReceived && !this.#isNamed)
          throw new UnvalidatedRangeError(`${error.message}; the response has no ETag`, { cause: error })
        if (error instanceof OtherSizeError) throw await findSizeCause(this.#store, this.#listed, error, signal)
        if (hasReceived) backoff.reset()
        await backoff.wait(error, signal)
      }
    }
  }

  /** Requests the missing bytes. Returns whether all were received; if not, the next request asks in another way. */
  async #request(signal: AbortSignal): Promise<boolean> {
    const { key } = this.#expected
    const begun = this.#at
    try {
      const answer = await this.#store.get(key, this.#headers(), signal, (response) => this.#accept(response))
      if (answer.status === 412 && this.#isConditional && (await isUnchanged(this.#store, this.#expected, signal))) {
        this.#isConditional = false
        return false
      }
      if (!hasData(answer)) throw refusal(this.#store, key, answer)
    } catch (error) {
      if (!(error instanceof DecodedError)) throw error
      this.#asStored = true
      return false
    }
    if (this.#at < this.#range.end)
      throw new RetryableError(`${this.#what}: the body ended after ${this.#at - begun} bytes`)
    return true
  }

  #headers(): ReadHeaders {
    const { etag, size } = this.#expected
    const { end } = this.#range
    const isWhole = this.#at === 0 && end === size
    return defined({
      range: isWhole ? undefined : `bytes=${this.#at}-${end - 1}`,
      'if-match': this.#isConditional && etag !== '' ? `"${etag}"` : undefined,
      'accept-encoding': this.#asStored ? 'gzip' : undefined,
    })
  }

  /** Returns the sink for the body of a response; undefined for one without data. */
  #accept(response: Pick<HttpResponse, 'status' | 'headers'>): Sink | undefined {
    if (!hasData(response)) return undefined
    const { headers } = response
    if (!this.#asStored && isDecodedOnTheWay(this.#expected, headers)) throw new DecodedError(this.#what)
    checkAnswer(this.#what, this.#expected, response, this.#at, this.#range)
    if (!this.#hasBegun) this.#begin?.(headers)
    this.#hasBegun = true
    this.#isNamed = headers['etag'] !== undefined
    if (this.#expected.etag === '') this.#expected = { ...this.#expected, etag: unquoteEtag(headers['etag']) }
    return (chunk) => {
      if (this.#at + chunk.length > this.#range.end)
        throw new OtherSizeError('SourceChanged', `${this.#what} has ${LONGER}`)
      this.#at += chunk.length
      this.#sink(chunk)
    }
  }
}

function hasData({ status }: Pick<HttpResponse, 'status'>): boolean {
  return status === 200 || status === 206
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
  if (status === 200) {
    if (at !== 0 || end !== size) throw ignoredRange(what, headers, start === 0 && end === size)
    // The same ETag with fewer bytes is the same object: the rest is requested as after a broken connection.
    const length = headers['content-length']
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

/** The error for a whole object instead of a range of it. `isRest`: the object was requested whole before, and its body ended early. */
function ignoredRange(what: string, headers: HttpResponse['headers'], isRest: boolean): Error {
  // A server that shuts down may ignore ranges although it supports them (Versity S3 Gateway).
  if (headers['accept-ranges'] === 'bytes') return new RetryableError(`${what}: the server ignored the range`)
  return isRest
    ? new UnvalidatedRangeError(`${what}: the body ended early, and the server does not support ranges`)
    : new MoverError('Rejected', `${what}: the server does not support ranges`)
}

function otherSize(what: string): OtherSizeError {
  return new OtherSizeError('SourceChanged', `${what} has changed since it was listed: its size changed`)
}

function changed(what: string, how: string): MoverError {
  return new MoverError('SourceChanged', `${what} has changed since it was listed: ${how}`)
}
