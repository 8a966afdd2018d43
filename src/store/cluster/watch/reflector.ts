/** Keeps the cache of one kind equal to the API server with LIST and WATCH requests, until it is stopped. */
import type { K8sObject } from '../../../api/meta.ts'
import { Backoff, type BackoffOptions, HEALTHY_AFTER_MS } from '../../../base/time/backoff-timer.ts'
import { type Clock, sleep } from '../../../base/time/clock.ts'
import type { ObjectChange, StagedObjects } from '../../cache/cache.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import { forEachInSlices } from '../../for-each-in-slices.ts'
import type { RelistReason, StoreObserver } from '../../observer.ts'
import type { UnavailableKind } from '../../store.ts'
import type { ApiConnection } from '../api-connection.ts'
import { ApiError, askedDelayMs, isExpired, isForbidden, isRefused, WatchErrorEvent } from '../api-error.ts'
import {
  checkAgainMs,
  confirmKind,
  GONE_AFTER,
  KindUnavailableError,
  notPermitted,
  servesKind,
  whyUnavailable,
} from './absence.ts'
import { type CacheWriter, createCacheWriter } from './cache-writer.ts'
import { type ListOptions, listAll } from './pager.ts'
import { wasRestored } from './restored.ts'
import { MalformedEventError, type WatchEnd, watchOnce } from './watcher.ts'

export interface ReflectorOptions extends ListOptions {
  /** How long a watch may send no byte before it is resumed. Default 90 s: conforming servers send a bookmark every minute. */
  silenceMs?: number
  /** The longest interval between checks for a kind that is not served; the first checks follow sooner. Default 30 s. */
  unservedRetryMs?: number
  backoff?: BackoffOptions
}

interface ReflectorInput {
  connection: ApiConnection
  kind: KindCache
  clock: Clock
  observer: StoreObserver
  publish(change: ObjectChange<K8sObject>): void
  /** Receives why the kind is not available; undefined when it is available again. */
  setUnavailable(unavailable: UnavailableKind | undefined): void
  /** Called after each complete list, and when the server begins or ceases to serve the kind. */
  synced(): void
  options: ReflectorOptions
}

/** The watch timeout is random between this value and twice this value, so that the watches of a restarted fleet spread out. */
const MIN_WATCH_SECONDS = 300
/** A watch that ends sooner counts as failed, even if it ended without an error. */
const SHORT_WATCH_MS = 1000
/** So many watches in a row may end by an ERROR event without progress. The next one would too: a list passes over the cause. */
const STUCK_WATCHES = 3

export class Reflector {
  readonly #input: ReflectorInput
  readonly #backoff: Backoff
  readonly #abort = new AbortController()
  #running: Promise<void> | undefined
  #version: string | undefined
  readonly #served: ServedVersion
  readonly #writer: CacheWriter
  #reason: RelistReason = 'initial'
  #listedAt = Number.NEGATIVE_INFINITY
  #missing = 0
  /** How many watches in a row ended by an ERROR event, from the same resource version. */
  #stuck = 0
  /** Whether the server may have been restored since the last watch: it was not reachable, or sent nothing. */
  #mayBeRestored = false
  #contactAt: number | undefined

  constructor(input: ReflectorInput) {
    this.#input = input
    this.#backoff = new Backoff(input.clock, input.options.backoff)
    this.#served = new ServedVersion(input.kind)
    this.#writer = createCacheWriter(input, this.#abort.signal)
  }

  /** Milliseconds since the last response of the server for this kind; undefined before the first one. */
  contactAgeMs(): number | undefined {
    return this.#contactAt === undefined ? undefined : this.#input.clock.now() - this.#contactAt
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Ends the current list or watch, and resolves when it has ended. */
  async stop(): Promise<void> {
    this.#abort.abort()
    await this.#running
  }

  async #run(): Promise<void> {
    const { signal } = this.#abort
    while (!signal.aborted) {
      const delayMs = await this.#step()
      if (delayMs > 0) await sleep(this.#input.clock, delayMs, signal)
    }
  }

  async #step(): Promise<number> {
    try {
      return this.#version === undefined ? await this.#list() : await this.#watch(this.#version)
    } catch (error) {
      // Both functions catch expected errors. Any other error is a bug of Lodestone, which must not end the watch of the kind.
      this.#relist('rejected')
      return this.#failed('list', error)
    }
  }

  /** Lists once. Returns the delay before the next step. */
  async #list(): Promise<number> {
    const { kind, clock, observer, connection, options } = this.#input
    const startedAt = clock.now()
    let staged: StagedObjects<K8sObject> = kind.cache.stage()
    observer.relisted({ kind: kind.type.kind, reason: this.#reason })
    try {
      const version = await this.#served.find((served) =>
        listAll({
          connection,
          kind: served,
          clock,
          options,
          signal: this.#abort.signal,
          begin: () => {
            staged = kind.cache.stage()
          },
          add: (raw) => this.#writer.keep(raw, this.#served.kind.type, (object) => staged.add(object)),
          contact: () => this.#contact(),
        }),
      )
      await confirmKind(connection, kind, this.#abort.signal)
      const changes = await this.#commit(true)
      observer.listed({ kind: kind.type.kind, items: kind.cache.size, changes, durationMs: clock.now() - startedAt })
      this.#version = version
      this.#listedAt = clock.now()
      return 0
    } catch (error) {
      if (this.#abort.signal.aborted) return 0
      if (error instanceof KindUnavailableError) return this.#unavailable(error)
      if (error instanceof ApiError && error.status === 404) return await this.#notServed(error)
      if (this.#mayHide(error)) return await this.#notPermitted()
      return this.#failed('list', error)
    }
  }

  /** Handles a kind that the user of one namespace may not list: it is empty, as long as the right is missing. */
  async #notPermitted(): Promise<number> {
    const { kind, connection, options } = this.#input
    this.#contact()
    // The API server also forbids what it does not serve.
    if (!(await servesKind(connection, kind.type, this.#abort.signal))) return this.#emptied()
    const unavailable = notPermitted(kind.type, options.namespace)
    if (kind.cache.size > 0 || !kind.cache.synced) {
      kind.cache.stage()
      await this.#commit(true, unavailable)
    }
    this.#input.setUnavailable(unavailable)
    return this.#checkLater()
  }

  /** Handles a kind that the server does not serve: its objects stay, or the cache becomes empty. */
  async #notServed(error: ApiError): Promise<number> {
    const { kind } = this.#input
    const unavailable = whyUnavailable(kind, error, 404)
    if (!kind.optional && !unavailable) return this.#failed('list', error)
    this.#contact()
    if ((unavailable || kind.cache.size > 0) && this.#missing + 1 < GONE_AFTER) {
      this.#missing += 1
      return this.#failed('list', error)
    }
    if (unavailable) return this.#unavailable(unavailable)
    return this.#emptied()
  }

  /** Empties the cache of a kind that the server does not serve. */
  async #emptied(): Promise<number> {
    const { kind, observer } = this.#input
    if (kind.served || !kind.cache.synced) {
      kind.cache.stage()
      await this.#commit(false)
      observer.served({ kind: kind.type.kind, served: false })
    }
    return this.#checkLater()
  }

  /** Handles a kind whose objects are unknown at present: they stay. */
  #unavailable({ unavailable }: KindUnavailableError): number {
    this.#contact()
    this.#input.kind.served = false
    this.#input.setUnavailable(unavailable)
    return this.#checkLater()
  }

  /** Returns the delay before the next list of a kind that is absent. */
  #checkLater(): number {
    this.#missing += 1
    this.#relist('unserved')
    this.#backoff.reset()
    return checkAgainMs(this.#missing, this.#input.options.unservedRetryMs, this.#input.clock)
  }

  /** Commits the staged state and publishes the differences in slices. Returns their number. */
  async #commit(served: boolean, unavailable?: UnavailableKind): Promise<number> {
    const { kind, observer } = this.#input
    const appeared = served && !kind.served
    if (served) this.#missing = 0
    kind.served = served
    const changes = kind.cache.commit()
    this.#input.setUnavailable(unavailable)
    this.#input.synced()
    if (appeared) observer.served({ kind: kind.type.kind, served: true })
    return forEachInSlices(changes, this.#input.publish)
  }

  /** Watches once. Returns the delay before the next step. */
  async #watch(resourceVersion: string): Promise<number> {
    const { kind, clock, observer, connection } = this.#input
    const restored = this.#mayBeRestored && (await this.#wasRestored(resourceVersion))
    if (this.#abort.signal.aborted) return 0
    if (restored instanceof Error) return this.#afterWatch({ result: 'failed', livedMs: 0, error: restored })
    if (restored) {
      this.#relist('restored')
      return 0
    }
    this.#mayBeRestored = false
    const end = await watchOnce({
      connection,
      kind: this.#served.kind,
      namespace: this.#input.options.namespace,
      clock,
      resourceVersion,
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + clock.random())),
      silenceMs: this.#input.options.silenceMs ?? 90_000,
      signal: this.#abort.signal,
      event: (type, raw, batch) => this.#writer.apply(type, raw, this.#served.kind.type, batch),
      advance: (version) => {
        this.#version = version
        this.#stuck = 0
      },
      contact: () => {
        this.#contact()
        this.#input.setUnavailable(undefined)
      },
    })
    observer.watchEnded({ kind: kind.type.kind, result: end.result, livedMs: end.livedMs })
    return this.#afterWatch(end)
  }

  /** Returns the error if the server does not tell. */
  async #wasRestored(resourceVersion: string): Promise<boolean | Error> {
    const { connection, options } = this.#input
    const { signal } = this.#abort
    const observed = { connection, kind: this.#served.kind, namespace: options.namespace, resourceVersion, signal }
    return wasRestored(observed).catch((error: Error) => error)
  }

  /** Whether a kind is hidden after this error: only for a user of one namespace. */
  #mayHide(error: unknown): boolean {
    return this.#input.options.namespace !== undefined && isForbidden(error)
  }

  #afterWatch(end: WatchEnd): number {
    this.#backoff.lived(end.livedMs)
    this.#mayBeRestored ||= end.result === 'silent' || (end.result === 'failed' && !(end.error instanceof ApiError))
    switch (end.result) {
      case 'stopped':
        return 0
      case 'closed':
      case 'silent':
      case 'capped':
        return end.livedMs < SHORT_WATCH_MS ? this.#backoff.nextDelayMs() : 0
      case 'expired':
        this.#relist('expired')
        // Without a delay, a list that expires immediately would be repeated without end.
        return this.#input.clock.now() - this.#listedAt < HEALTHY_AFTER_MS ? this.#backoff.nextDelayMs() : 0
      case 'failed':
        if (end.error instanceof KindUnavailableError) return this.#unavailable(end.error)
        // The same watch would fail again, so a list gets a new resource version, or shows that a right was taken away.
        if (
          isRefused(end.error) ||
          end.error instanceof MalformedEventError ||
          this.#mayHide(end.error) ||
          this.#isStuck(end.error)
        )
          this.#relist('rejected')
        return this.#failed('watch', end.error)
      default:
        return assertNever(end.result)
    }
  }

  /**
   * Whether the server ends each watch from this version, for instance because it cannot convert the next object. client-go lists after the first
   * such event. But most of the causes pass, and a list costs the server more. An overloaded server rejects the request of the watch instead.
   */
  #isStuck(error: unknown): boolean {
    this.#stuck = error instanceof WatchErrorEvent ? this.#stuck + 1 : 0
    return this.#stuck >= STUCK_WATCHES
  }

  #relist(reason: RelistReason): void {
    this.#version = undefined
    this.#stuck = 0
    this.#mayBeRestored = false
    this.#reason = reason
  }

  #failed(verb: 'list' | 'watch', error: unknown): number {
    const { kind, observer } = this.#input
    if (isExpired(error)) this.#relist('expired')
    const forbidden = whyUnavailable(kind, error, 403)
    if (forbidden) this.#input.setUnavailable(forbidden.unavailable)
    // Adds jitter to Retry-After, because the server sends the same time to every client.
    const retryInMs = askedDelayMs(error) + this.#backoff.nextDelayMs()
    const message = `${verb} failed: ${error instanceof Error ? error.message : String(error)}`
    observer.error({ kind: kind.type.kind, message, error, retryInMs })
    return retryInMs
  }

  #contact(): void {
    this.#contactAt = this.#input.clock.now()
  }
}

function assertNever(result: never): never {
  throw new Error(`unknown watch result ${String(result)}`)
}

/** The fields of a kind that a request needs. */
type RequestedKind = Pick<KindCache, 'type' | 'metadataOnly'>

/** Finds the version in which the API server serves a kind. */
class ServedVersion {
  /** The kind in the version that was served last; before the first success, in its first version. */
  kind: RequestedKind
  readonly #versions: readonly string[]

  constructor({ type, metadataOnly }: RequestedKind) {
    this.kind = { type, metadataOnly }
    this.#versions = [type.version, ...(type.otherVersions ?? [])]
  }

  /** Tries the versions in turn, beginning with the one that was served last. Throws the 404 of the last one, or any other error. */
  async find<T>(list: (kind: RequestedKind) => Promise<T>): Promise<T> {
    const others = this.#versions.filter((version) => version !== this.kind.type.version)
    for (;;) {
      try {
        return await list(this.kind)
      } catch (error) {
        const version = error instanceof ApiError && error.status === 404 ? others.shift() : undefined
        if (version === undefined) throw error
        this.kind = { ...this.kind, type: { ...this.kind.type, version } }
      }
    }
  }
}
