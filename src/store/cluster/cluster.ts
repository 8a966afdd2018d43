/** The store of an API server: a reflector keeps each kind current, and writes go to the server. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { type Clock, systemClock } from '../../base/time/clock.ts'
import type { AnyCachedKind } from '../any-kind.ts'
import { CachedStore } from '../cache/cached-store.ts'
import { completeObserver, type StoreObserver } from '../observer.ts'
import type { CreateOptions, ObjectName, ObjectStore, PatchOptions, WriteOptions } from '../store.ts'
import type { ApiConnection } from './api-connection.ts'
import { createObject, deleteObject, patchObject, readObject, updateObject } from './object-writer.ts'
import { Reflector, type ReflectorOptions } from './watch/reflector.ts'
import { WriteLimit, type WriteLimitOptions } from './write-limit.ts'

export interface ClusterStoreInput extends ReflectorOptions, WriteLimitOptions {
  /** The caller closes it after it has stopped the store. */
  connection: ApiConnection
  kinds: readonly AnyCachedKind[]
  observer?: Partial<StoreObserver>
  /** Default: the clock of the system. */
  clock?: Clock
}

/** Time since the last response of the server for a kind; `ageMs` is absent before the first one. */
interface ContactAge {
  kind: string
  ageMs?: number
}

export interface ClusterStore extends ObjectStore {
  /** For the readiness probe: when the last contact is old, the cache may be outdated. A watch without changes still receives bookmarks. */
  contactAges(): readonly ContactAge[]
}

/** Creates a store. It reads nothing before `start`. */
export function openClusterStore(input: ClusterStoreInput): ClusterStore {
  return new ReflectedStore(input)
}

class ReflectedStore extends CachedStore implements ClusterStore {
  readonly #connection: ApiConnection
  readonly #limit: WriteLimit
  readonly #reflectors: readonly { kind: string; reflector: Reflector }[]
  readonly #waiting = new Set<() => void>()
  #stopped = false

  constructor(input: ClusterStoreInput) {
    const { connection, kinds, observer, clock = systemClock, writesPerSecond, burst, ...options } = input
    super(kinds, completeObserver(observer))
    this.#connection = connection
    this.#limit = new WriteLimit(clock, { writesPerSecond, burst })
    this.#reflectors = [...this.kindCaches.values()].map((kind) => ({
      kind: kind.type.kind,
      reflector: new Reflector({
        connection,
        kind,
        clock,
        observer: this.observer,
        publish: (change) => this.publish(kind.type, change),
        setUnavailable: (unavailable) => this.setUnavailable(kind.type, unavailable),
        synced: () => this.#announce(),
        options,
      }),
    }))
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#stopped) throw new Error('the store was stopped')
    for (const { reflector } of this.#reflectors) reflector.start()
    await this.#untilSynced(signal)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#limit.stop()
    await Promise.all(this.#reflectors.map(({ reflector }) => reflector.stop()))
  }

  contactAges(): readonly ContactAge[] {
    return this.#reflectors.map(({ kind, reflector }) => defined({ kind, ageMs: reflector.contactAgeMs() }))
  }

  async create<T extends K8sObject>(type: ResourceType<T>, object: T, options?: CreateOptions): Promise<T> {
    await this.#mayWrite(options)
    return createObject(this.#connection, type, object, options)
  }

  async update<T extends K8sObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T> {
    await this.#mayWrite(options)
    return updateObject(this.#connection, type, object)
  }

  async patch<T extends K8sObject>(
    type: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    options?: PatchOptions,
  ): Promise<T> {
    await this.#mayWrite(options)
    return patchObject(this.#connection, type, reference, patch, options)
  }

  async delete<T extends K8sObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<void> {
    await this.#mayWrite(options)
    return deleteObject(this.#connection, type, object)
  }

  read<T extends K8sObject>(
    type: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    return readObject(this.#connection, type, namespace, name)
  }

  /** Waits for the write limit, then asks the caller once more. */
  async #mayWrite({ beforeWrite }: WriteOptions = {}): Promise<void> {
    await this.#limit.take()
    beforeWrite?.()
  }

  #untilSynced(signal: AbortSignal): Promise<void> {
    if (this.synced()) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const look = (): void => {
        if (!this.synced()) return
        finish()
        resolve()
      }
      const fail = (): void => {
        finish()
        reject(signal.reason)
      }
      const finish = (): void => {
        this.#waiting.delete(look)
        signal.removeEventListener('abort', fail)
      }
      this.#waiting.add(look)
      signal.addEventListener('abort', fail, { once: true })
    })
  }

  #announce(): void {
    for (const look of this.#waiting) look()
  }
}
