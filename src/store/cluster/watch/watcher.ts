/** One watch, from its request to its end: hands on events in order and tells how it ended. Never decides what comes next. */
import { collectionPath, type K8sObject } from '../../../api/meta.ts'
import type { Clock } from '../../../time/clock.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import type { WatchResult } from '../../observer.ts'
import type { ApiConnection } from '../api-connection.ts'
import { isExpired, readErrorEvent } from '../api-error.ts'
import { acceptFor } from './metadata.ts'
import { FrameDecoder } from './watch-frames.ts'
import { startWatchdog } from './watchdog.ts'

interface WatchInput {
  connection: ApiConnection
  kind: Pick<KindCache, 'type' | 'metadataOnly'>
  clock: Clock
  /** Where the last list or watch ended; opaque. */
  resourceVersion: string
  /** How long the server is asked to keep the watch, in seconds. */
  timeoutSeconds: number
  /** Without a byte for this long the peer counts as dead. Bookmarks come about once a minute. */
  silenceMs: number
  signal: AbortSignal
  event(type: 'ADDED' | 'MODIFIED' | 'DELETED', raw: K8sObject): void
  /** The watch is at this version: everything up to it has been handed on. */
  advance(resourceVersion: string): void
  /** Bytes have arrived. */
  contact(): void
}

export interface WatchEnd {
  result: WatchResult
  livedMs: number
  /** Why, when the result is `expired` or `failed`. */
  error?: unknown
}

/** A server ends a watch at `timeoutSeconds`; one that is this much late will not do so any more. */
const OVERTIME_MS = 30_000

/** An event that cannot be understood: going on behind it would lose it, so only a fresh list helps. */
export class MalformedEventError extends Error {
  override name = 'MalformedEventError'
}

/** Watches a kind until the watch ends, whatever the reason: an ended watch is an answer, so nothing is thrown. */
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
    // After a malformed event the server's stream is still open.
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
  const bytes = await input.connection.stream(collectionPath(input.kind.type), { query, accept, signal })
  fed()
  input.contact()
  for await (const chunk of bytes) {
    fed()
    input.contact()
    for (const frame of frames.push(chunk)) {
      // Nothing of a watch that was cut off may count: the next one begins where this one was last.
      if (signal.aborted) return
      handleFrame(input, frame)
    }
  }
}

function handleFrame(input: WatchInput, frame: string): void {
  const { type, object } = parseFrame(frame)
  const what = `watch of ${input.kind.type.plural}`
  if (type === 'ERROR') throw readErrorEvent(what, object)
  const resourceVersion = object?.metadata?.resourceVersion
  if (!object || !resourceVersion) throw new MalformedEventError(`${what}: a ${type} event without a resourceVersion`)
  if (type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED') input.event(type, object)
  // An event type of the future is passed over, as client-go does; its version counts.
  input.advance(resourceVersion)
}

function parseFrame(frame: string): { type?: string; object?: K8sObject } {
  try {
    const event: unknown = JSON.parse(frame)
    if (typeof event === 'object' && event !== null) return event
  } catch (error) {
    throw new MalformedEventError(`an event is no JSON: ${frame.slice(0, 100)}`, { cause: error })
  }
  throw new MalformedEventError(`an event is no object: ${frame.slice(0, 100)}`)
}
