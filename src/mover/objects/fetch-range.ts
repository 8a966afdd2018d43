/** Fetches a range of an object into a sink. After a failure, it resumes at the first missing byte. */
import type { ListedObject } from '../../core/mover/objects.ts'
import { RequestBackoff, RetryableError } from '../http/backoff.ts'
import type { HttpResponse, Sink } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore, ReadHeaders } from './object-store.ts'

export interface Range {
  start: number
  /** Exclusive. */
  end: number
}

/**
 * Fetches the bytes of a range. The sink receives each byte exactly once, in order.
 *
 * @param begin called with the headers of the first response, before any byte
 * @throws MoverError `SourceChanged` when the object differs from the listed one
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
  const what = store.nameOf(object.key)

  for (;;) {
    const begun = at
    try {
      const isWhole = at === 0 && end === object.size
      const request = headersFor(object, isWhole, at, end)
      const answer = await store.get(object.key, request, signal, ({ status, headers }) => {
        if (status !== 200 && status !== 206) return undefined
        checkAnswer(what, object, { status, headers }, at, end)
        if (!hasBegun) begin?.(headers)
        hasBegun = true
        return (chunk) => {
          if (at + chunk.length > end) throw changed(what, 'the server sends more bytes than its size')
          at += chunk.length
          sink(chunk)
        }
      })
      if (answer.status !== 200 && answer.status !== 206) throw refusal(store, object.key, answer)
      if (at < end) throw new RetryableError(`${what}: the body ended after ${at - begun} bytes`)
      return
    } catch (error) {
      // The connection failed after the last byte. A request for the empty rest would be answered with the whole object.
      if (at === end && error instanceof RetryableError) return
      if (at > begun) backoff.reset()
      await backoff.wait(error, signal)
    }
  }
}

function headersFor({ etag }: ListedObject, isWhole: boolean, at: number, end: number): ReadHeaders {
  return {
    ...(!isWhole && { range: `bytes=${at}-${end - 1}` }),
    ...(etag !== '' && { 'if-match': `"${etag}"` }),
  }
}

/** The error for a response without data. An object that is missing although it was listed has changed; the next attempt lists it again. */
function refusal(store: ObjectStore, key: string, answer: HttpResponse) {
  return store.isObjectMissing(answer) ? changed(store.nameOf(key), 'it was deleted') : store.errorOf(key, answer)
}

function checkAnswer(
  what: string,
  { size, etag }: ListedObject,
  { status, headers }: Pick<HttpResponse, 'status' | 'headers'>,
  at: number,
  end: number,
): void {
  const received = headers['etag']?.replace(/^(?:W\/)?"|"$/g, '')
  // Not every server supports If-Match.
  if (etag !== '' && received !== undefined && received !== etag) throw changed(what, 'its ETag changed')
  const length = headers['content-length']
  if (status === 200) {
    const isWhole = at === 0 && end === size
    // A server that shuts down may ignore ranges although it supports them (Versity S3 Gateway).
    if (!isWhole && headers['accept-ranges'] === 'bytes')
      throw new RetryableError(`${what}: the server ignored the range`)
    if (!isWhole) throw new MoverError('Rejected', `${what}: the server does not support ranges`)
    // The same ETag with fewer bytes is the same object: the rest is requested as after a broken connection.
    const isCutOff = etag !== '' && received === etag && Number(length) < size
    if (length !== undefined && Number(length) !== size && !isCutOff) throw changed(what, 'its size changed')
    return
  }
  const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers['content-range'] ?? '')
  if (range === null || Number(range[1]) !== at || Number(range[2]) !== end - 1) {
    const wanted = `bytes ${at}-${end - 1}/${size}`
    const received = headers['content-range'] ?? 'no content-range'
    throw new MoverError('Rejected', `${what}: requested ${wanted}, received ${received}`)
  }
  if (range[3] !== '*' && Number(range[3]) !== size) throw changed(what, 'its size changed')
}

function changed(what: string, how: string): MoverError {
  return new MoverError('SourceChanged', `${what} has changed since it was listed: ${how}`)
}
