/** Keeps the cache of one kind equal to the API server with LIST and WATCH requests, until it is stopped. */
import type { K8sObject } from '../../../api/meta.ts'
import { backoffMs, spreadInterval } from '../../../core/backoff.ts'
import { Backoff, type BackoffOptions } from '../../../time/backoff.ts'
import { type Clock, sleep } from '../../../time/clock.ts'
import type { ObjectChange, StagedObjects } from '../../cache/cache.ts'
import type { KindCache } from '../../cache/cached-store.ts'
import { forEachInSlices } from '../../for-each-in-slices.ts'
import { withType } from '../../kinds/any-kind.ts'
import type { RelistReason, StoreObserver } from '../../observer.ts'
import type { ApiConnection } from '../api-connection.ts'
import { ApiError, isExpired, isRefused } from '../api-error.ts'
import { type ListOptions, listAll } from './pager.ts'
import { ServedVersion } from './served-version.ts'
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
  /** Called after each complete list, and when the server begins or ceases to serve the kind. */
  synced(): void
  options: ReflectorOptions
}

/** The watch timeout is random between this value and twice this value, so that the watches of a restarted fleet spread out. */
const MIN_WATCH_SECONDS = 300
/** A watch that ends sooner counts as failed, even if it ended without an error. */
const SHORT_WATCH_MS = 1000
/** The longest Retry-After that is honored. */
const MAX_RETRY_AFTER_MS = 300_000
/** 404 responses in a row before a kind that was served counts as removed. An API server that restarts lacks CRDs for a moment. */
const GONE_AFTER = 2
/** The first check for a kind that is not served; the interval then doubles. CRDs are often applied together with Lodestone. */
const FIRST_LOOK_MS = 2000

export class Reflector {
  readonly #input: ReflectorInput
  readonly #backoff: Backoff
  readonly #abort = new AbortController()
  #running: Promise<void> | undefined
  #version: string | undefined
  readonly #served: ServedVersion
  #reason: RelistReason = 'initial'
  #listedAt = Number.NEGATIVE_INFINITY
  #missing = 0
  #contactAt: number | undefined

  constructor(input: ReflectorInput) {
    this.#input = input
    this.#backoff = new Backoff(input.clock, input.options.backoff)
    this.#served = new ServedVersion(input.kind)
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
          ...{ connection, kind: served, clock, options, signal: this.#abort.signal },
          begin: () => {
            staged = kind.cache.stage()
          },
          add: (raw) => this.#keep(raw, (object) => staged.add(object)),
          contact: () => this.#contact(),
        }),
      )
      const changes = await this.#commit(true)
      observer.listed({ kind: kind.type.kind, items: kind.cache.size, changes, durationMs: clock.now() - startedAt })
      this.#version = version
      this.#listedAt = clock.now()
      return 0
    } catch (error) {
      if (this.#abort.signal.aborted) return 0
      return error instanceof ApiError && error.status === 404 && kind.optional
        ? await this.#notServed(error)
        : this.#failed('list', error)
    }
  }

  /** Handles a kind that the server does not serve. The cache becomes empty when that is certain, and the kind is checked again later. */
  async #notServed(error: ApiError): Promise<number> {
    const { kind, observer, options, clock } = this.#input
    this.#contact()
    this.#missing += 1
    if (kind.cache.size > 0 && this.#missing < GONE_AFTER) return this.#failed('list', error)
    this.#relist('unserved')
    this.#backoff.reset()
    if (kind.served || !kind.cache.synced) {
      kind.served = false
      kind.cache.stage()
      await this.#commit(false)
      observer.served({ kind: kind.type.kind, served: false })
    }
    const retryMs = backoffMs({ firstMs: FIRST_LOOK_MS, lastMs: options.unservedRetryMs ?? 30_000 }, this.#missing)
    return spreadInterval(retryMs, clock.random())
  }

  /** Commits the staged state and publishes the differences in slices. Returns their number. */
  async #commit(served: boolean): Promise<number> {
    const { kind, observer } = this.#input
    const appeared = served && !kind.served
    if (served) this.#missing = 0
    kind.served = served
    const changes = kind.cache.commit()
    this.#input.synced()
    if (appeared) observer.served({ kind: kind.type.kind, served: true })
    return forEachInSlices(changes, this.#input.publish)
  }

  /** Watches once. Returns the delay before the next step. */
  async #watch(resourceVersion: string): Promise<number> {
    const { kind, clock, observer, connection } = this.#input
    const end = await watchOnce({
      connection,
      kind: this.#served.kind,
      clock,
      resourceVersion,
      timeoutSeconds: Math.round(MIN_WATCH_SECONDS * (1 + clock.random())),
      silenceMs: this.#input.options.silenceMs ?? 90_000,
      signal: this.#abort.signal,
      event: (type, raw) => this.#apply(type, raw),
      advance: (version) => {
        this.#version = version
      },
      contact: () => this.#contact(),
    })
    observer.watchEnded({ kind: kind.type.kind, result: end.result, livedMs: end.livedMs })
    return this.#afterWatch(end)
  }

  #afterWatch(end: WatchEnd): number {
    this.#backoff.lived(end.livedMs)
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
        return this.#input.clock.now() - this.#listedAt < this.#backoff.healthyAfterMs ? this.#backoff.nextDelayMs() : 0
      case 'failed':
        // The same watch would fail again, so a list gets a new resource version.
        if (isRefused(end.error) || end.error instanceof MalformedEventError) this.#relist('rejected')
        return this.#failed('watch', end.error)
      default:
        return assertNever(end.result)
    }
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', raw: K8sObject): void {
    const { kind, publish } = this.#input
    const { namespace, name } = raw.metadata
    if (name === undefined) throw new MalformedEventError(`watch of ${kind.type.plural}: an event without a name`)
    if (type === 'DELETED') {
      const change = kind.cache.remove(namespace, name)
      if (change !== undefined) publish(change)
      return
    }
    this.#keep(raw, (object) => {
      const change = kind.cache.put(object)
      if (change !== undefined) publish(change)
    })
  }

  /** An object that cannot be cached is reported and skipped, so that the other objects stay available. */
  #keep(raw: K8sObject, put: (object: K8sObject) => void): void {
    const { kind, observer } = this.#input
    try {
      put(kind.keep(withType(this.#served.kind.type, raw)))
    } catch (error) {
      const message = `${raw.metadata?.namespace ?? ''}/${raw.metadata?.name ?? ''} cannot be cached`
      observer.error({ kind: kind.type.kind, message, error })
    }
  }

  #relist(reason: RelistReason): void {
    this.#version = undefined
    this.#reason = reason
  }

  #failed(verb: 'list' | 'watch', error: unknown): number {
    const { kind, observer } = this.#input
    if (isExpired(error)) this.#relist('expired')
    const askedMs = error instanceof ApiError ? Math.min(error.retryAfterMs ?? 0, MAX_RETRY_AFTER_MS) : 0
    // Adds jitter to Retry-After, because the server sends the same time to every client.
    const retryInMs = askedMs + this.#backoff.nextDelayMs()
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
