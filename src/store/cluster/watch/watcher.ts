/** Runs one watch: passes on its events in order, and returns how it ended. The reflector decides the next step. */
import { collectionPath, type K8sObject } from '../../../api/meta.ts'
import type { Clock } from '../../../base/time/clock.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import { acceptFor } from '../../kinds/metadata-only.ts'
import type { WatchResult } from '../../observer.ts'
import type { ApiConnection } from '../api-connection.ts'
import { isExpired, readErrorEvent } from '../api-error.ts'
import { PendingBytes } from './pending-bytes.ts'
import { startWatchdog } from './watchdog.ts'

export type WatchEventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/** Identifies the events of one chunk: all of them had arrived before the first one was passed on. */
export type WatchBatch = symbol

interface WatchInput {
  connection: ApiConnection
  kind: Pick<KindCache, 'type' | 'metadataOnly'>
  /** Watches objects of this namespace only, if the kind has namespaces. */
  namespace?: string | undefined
  clock: Clock
  /** The resource version at which the last list or watch ended; opaque. */
  resourceVersion: string
  /** The timeout of the watch in the request, in seconds. */
  timeoutSeconds: number
  /** How long the watch may send no byte before it is ended. Bookmarks arrive about once a minute. */
  silenceMs: number
  signal: AbortSignal
  /** Called in order. The next event waits for a promise; if it rejects, the watch ends with its error, before this event. */
  event(type: WatchEventType, raw: K8sObject, batch: WatchBatch): void | Promise<void>
  /** Called with the resource version up to which all events were passed on. */
  advance(resourceVersion: string): void
  /** Called when bytes arrive. */
  contact(): void
}

export interface WatchEnd {
  result: WatchResult
  livedMs: number
  /** The error of the results `expired` and `failed`. */
  error?: unknown
}

/** How long after `timeoutSeconds` the client ends a watch that the server did not end. */
const OVERTIME_MS = 30_000

/** An event that cannot be parsed. A watch that skips it would lose it, so the kind must be listed again. */
export class MalformedEventError extends Error {
  override name = 'MalformedEventError'
}

/** Watches a kind until the watch ends, for any reason. It throws nothing: the result has the error. */
export async function watchOnce(input: WatchInput): Promise<WatchEnd> {
  const { clock, signal } = input
  const startedAt = clock.now()
  const abort = new AbortController()
  let cut: WatchResult | undefined
  const end = (result: WatchResult): void => {
    cut ??= result
    abort.abort(new Error(`the watch is over: ${result}`))
  }
  const stop = (): void => end('stopped')
  if (signal.aborted) stop()
  signal.addEventListener('abort', stop, { once: true })
  const cancelCap = clock.after(input.timeoutSeconds * 1000 + OVERTIME_MS, () => end('capped'))
  const watchdog = startWatchdog(clock, input.silenceMs, () => end('silent'))
  try {
    await consume(input, abort.signal, watchdog.fed)
    return { result: cut ?? 'closed', livedMs: clock.now() - startedAt }
  } catch (error) {
    const livedMs = clock.now() - startedAt
    if (cut !== undefined) return { result: cut, livedMs }
    return { result: isExpired(error) ? 'expired' : 'failed', livedMs, error }
  } finally {
    signal.removeEventListener('abort', stop)
    cancelCap()
    watchdog.stop()
    // After a malformed event, the stream of the server is still open.
    abort.abort()
  }
}

async function consume(input: WatchInput, signal: AbortSignal, fed: () => void): Promise<void> {
  const frames = new FrameDecoder()
  const query = {
    watch: true,
    resourceVersion: input.resourceVersion,
    allowWatchBookmarks: true,
    timeoutSeconds: input.timeoutSeconds,
  }
  const accept = acceptFor('PartialObjectMetadata', input.kind.metadataOnly)
  const bytes = await input.connection.stream(collectionPath(input.kind.type, input.namespace), {
    query,
    accept,
    signal,
  })
  fed()
  input.contact()
  for await (const chunk of bytes) {
    fed()
    input.contact()
    const batch = Symbol('batch')
    for (const frame of frames.push(chunk)) {
      // Events after the end of the watch are dropped. The next watch repeats them.
      if (signal.aborted) return
      const pending = handleFrame(input, frame, batch)
      if (pending) await pending
    }
  }
}

function handleFrame(input: WatchInput, frame: string, batch: WatchBatch): void | Promise<void> {
  const { type, object } = parseFrame(frame)
  const what = `watch of ${input.kind.type.plural}`
  if (type === 'ERROR') throw readErrorEvent(what, object)
  const resourceVersion = object?.metadata?.resourceVersion
  if (!object || !resourceVersion) throw new MalformedEventError(`${what}: a ${type} event without a resourceVersion`)
  // Unknown event types are ignored as in client-go, but their version counts.
  const isChange = type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED'
  const pending = isChange ? input.event(type, object, batch) : undefined
  if (pending) return pending.then(() => input.advance(resourceVersion))
  input.advance(resourceVersion)
}

function parseFrame(frame: string): { type?: string; object?: K8sObject } {
  try {
    const event: unknown = JSON.parse(frame)
    if (typeof event === 'object' && event !== null) return event
  } catch (error) {
    throw new MalformedEventError(`an event is not valid JSON: ${frame.slice(0, 100)}`, { cause: error })
  }
  throw new MalformedEventError(`an event is not an object: ${frame.slice(0, 100)}`)
}

const NEWLINE = 0x0a
/** Larger than any object in etcd (1.5 MiB by default), and small enough for the memory. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024

/** A line without an end: the stream is not a watch, and would fill the memory. */
export class FrameTooLargeError extends Error {
  override name = 'FrameTooLargeError'
  constructor(maxBytes: number) {
    super(`the watch sent more than ${maxBytes} bytes without a line end`)
  }
}

/**
 * Searches the bytes for newlines, which are never part of a multi-byte character. Only whole lines are decoded, so a chunk may end inside
 * a character. An incomplete line at the end of a stream is lost, and the next watch repeats its event.
 */
export class FrameDecoder {
  readonly #pending: PendingBytes

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#pending = new PendingBytes(maxBytes, () => new FrameTooLargeError(maxBytes))
  }

  /**
   * Yields the lines that `chunk` completes, in order, without line ends and without empty lines. The caller must read all lines before the
   * next call. Throws `FrameTooLargeError`, and a TypeError for bytes that are not UTF-8.
   */
  *push(chunk: Uint8Array): Generator<string, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#pending.hold(chunk.subarray(start, end))
      start = end + 1
      const line = this.#pending.take()
      if (line.trim() !== '') yield line
    }
    this.#pending.hold(chunk.subarray(start))
  }
}
