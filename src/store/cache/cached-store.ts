/** The base class of the stores: one cache per kind, subscriptions, and errors for reads before the first sync. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import { withoutContent } from '../kinds/metadata-only.ts'
import type { StoreObserver } from '../observer.ts'
import { type AvailabilityListener, NotSyncedError, type StoreChange, type UnavailableKind } from '../store.ts'
import { ObjectCache, type ObjectChange } from './cache.ts'
import type { IndexFunctions } from './object-table.ts'

/** The cache of one kind in a store. */
export interface KindCache {
  readonly type: ResourceType
  readonly optional: boolean
  readonly metadataOnly: boolean
  readonly absence: AnyCachedKind['absence']
  readonly cache: ObjectCache<K8sObject>
  /** Reduces a raw object to the cached fields. It throws for an object that the kind cannot cache. */
  keep(raw: K8sObject): K8sObject
  /** False while the API server does not serve the kind. */
  served: boolean
}

export class CachedStore {
  protected readonly observer: StoreObserver
  protected readonly kindCaches = new Map<string, KindCache>()
  readonly #typesByIndex = new Map<string, ResourceType[]>()
  /** The same caches by ResourceType, because building a string key is too slow for frequent reads. */
  readonly #byType = new Map<ResourceType, KindCache>()
  readonly #listeners = new Set<(change: StoreChange) => void>()
  readonly #availabilityListeners = new Set<AvailabilityListener>()
  #unavailable: readonly UnavailableKind[] = []

  constructor(kinds: readonly AnyCachedKind[], observer: StoreObserver) {
    this.observer = observer
    for (const kind of kinds) {
      for (const index of Object.keys(kind.indexes)) {
        this.#typesByIndex.set(index, [...(this.#typesByIndex.get(index) ?? []), kind.type])
      }
      const kindCache: KindCache = {
        type: kind.type,
        optional: kind.optional ?? false,
        metadataOnly: kind.metadataOnly ?? false,
        absence: kind.absence,
        cache: new ObjectCache(kind.indexes as IndexFunctions<K8sObject>),
        // Also removes the content of objects from a folder, or from a server that cannot send metadata only.
        keep: (raw) => kind.keep((kind.metadataOnly ? withoutContent(raw) : raw) as never),
        served: true,
      }
      this.kindCaches.set(kindKey(kind.type), kindCache)
      this.#byType.set(kind.type, kindCache)
    }
  }

  get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): T | undefined {
    return this.#read(type).cache.get(type.namespaced ? namespace : undefined, name) as T | undefined
  }

  list<T extends K8sObject>(type: ResourceType<T>): Iterable<T> {
    return this.#read(type).cache.values() as Iterable<T>
  }

  byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string): readonly T[] {
    return this.#read(type).cache.byIndex(index, key) as readonly T[]
  }

  typesWithIndex(index: string): readonly ResourceType[] {
    return this.#typesByIndex.get(index) ?? []
  }

  size(type: ResourceType): number {
    return this.#read(type).cache.size
  }

  kinds(): readonly ResourceType[] {
    return [...this.kindCaches.values()].map(({ type }) => type)
  }

  serves(type: ResourceType): boolean {
    return this.#read(type).served
  }

  synced(): boolean {
    return this.unsynced().length === 0
  }

  unsynced(): readonly ResourceType[] {
    return [...this.kindCaches.values()].filter((kind) => !kind.cache.synced).map((kind) => kind.type)
  }

  subscribe(listener: (change: StoreChange) => void): () => void {
    // Each call has its own wrapper, so that a function that subscribes twice is called twice.
    const own = (change: StoreChange): void => listener(change)
    this.#listeners.add(own)
    return () => {
      this.#listeners.delete(own)
    }
  }

  unavailable(): readonly UnavailableKind[] {
    return this.#unavailable
  }

  subscribeAvailability(listener: AvailabilityListener): () => void {
    const own: AvailabilityListener = (type, unavailable) => listener(type, unavailable)
    this.#availabilityListeners.add(own)
    return () => {
      this.#availabilityListeners.delete(own)
    }
  }

  /** Sets why a kind is not available; undefined if it is. Calls the listeners if that changed. */
  protected setUnavailable(type: ResourceType, unavailable: UnavailableKind | undefined): void {
    const before = this.#unavailable.find((other) => other.type === type)
    if (before?.reason === unavailable?.reason && before?.message === unavailable?.message) return
    const others = this.#unavailable.filter((other) => other !== before)
    this.#unavailable = unavailable ? [...others, unavailable] : others
    this.observer.availability({ kind: type.kind, unavailable })
    for (const listener of this.#availabilityListeners) this.#call(type, () => listener(type, unavailable))
  }

  /** Calls every listener, in order. An error of a listener is reported, and the other listeners are still called. */
  protected publish(type: ResourceType, change: ObjectChange<K8sObject>): void {
    for (const listener of this.#listeners) this.#call(type, () => listener({ type, ...change }))
    const event = change.after === undefined ? 'deleted' : change.before === undefined ? 'added' : 'modified'
    this.observer.event({ kind: type.kind, type: event })
  }

  #call(type: ResourceType, listener: () => void): void {
    try {
      listener()
    } catch (error) {
      this.observer.error({ kind: type.kind, message: 'a listener failed', error })
    }
  }

  #read(type: ResourceType): KindCache {
    const kind = this.#byType.get(type) ?? this.kindCaches.get(kindKey(type))
    if (kind === undefined) throw new Error(`${type.kind} objects are not cached: read them one by one`)
    if (!kind.cache.synced) throw new NotSyncedError(type.kind)
    return kind
  }
}
