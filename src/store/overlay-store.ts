/** A store that shows the objects of another store with supposed changes: the inputs of a decision in a supposed world. */
import { type K8sObject, keyOfObject, objectKey, type ResourceType, splitObjectKey } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import { type AnyCachedKind, kindKey } from './any-kind.ts'
import { CachedStore } from './cache/cached-store.ts'
import { completeObserver } from './observer.ts'
import type { ObjectStore, StoreChange } from './store.ts'

/** A list of an index with more objects is merged with the changes once. */
const LONG = 32

/** Reads the objects of a store with changes on top of it. Writes of the interface are rejected: only `put` and `remove` change it. */
export class OverlayStore extends CachedStore implements ObjectStore {
  readonly #base: ObjectStore
  /** The changed objects of each kind: key → the object as it was put, or undefined if it was removed. */
  readonly #changed = new Map<string, Map<string, K8sObject | undefined>>()
  /** Long lists of indexes with the changes in them: some decisions read the same one again and again. */
  readonly #longLists = new Map<string, readonly K8sObject[]>()

  /** @param kinds the cached fields and indexes of the changed objects: those of the base */
  constructor(base: ObjectStore, kinds: readonly AnyCachedKind[]) {
    super(kinds, completeObserver())
    this.#base = base
    // Only a committed cache is complete: these have just the changed objects.
    for (const { cache } of this.kindCaches.values()) cache.commit()
  }

  /** Adds or replaces an object. Throws for a kind that is not cached, and for an object that its kind cannot keep. */
  put(type: ResourceType, object: K8sObject): StoreChange {
    const kind = this.#kindOf(type)
    const { namespace, name = '' } = object.metadata
    const before = this.get(type, namespace, name)
    const after = kind.keep(object)
    // The copy that was put before has the same version, which a cache does not replace.
    kind.cache.remove(type.namespaced ? namespace : undefined, name)
    kind.cache.put(after)
    this.#note(type, namespace, name, object)
    return defined({ type, before, after })
  }

  /** Removes an object. Returns undefined if there is none. */
  remove(type: ResourceType, namespace: string | undefined, name: string): StoreChange | undefined {
    const before = this.get(type, namespace, name)
    if (!before) return undefined
    this.#kindOf(type).cache.remove(namespace, name)
    this.#note(type, namespace, name, undefined)
    return { type, before }
  }

  override get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): T | undefined {
    return this.#isChanged(type, namespace, name)
      ? super.get(type, namespace, name)
      : this.#base.get(type, namespace, name)
  }

  override *list<T extends K8sObject>(type: ResourceType<T>): Iterable<T> {
    const changed = this.#changed.get(kindKey(type))
    if (!changed) return yield* this.#base.list(type)
    for (const object of this.#base.list(type)) if (!changed.has(keyOfObject(object))) yield object
    yield* super.list(type)
  }

  override byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string): readonly T[] {
    const found = this.#base.byIndex(type, index, key)
    const changed = this.#changed.get(kindKey(type))
    if (!changed) return found
    const list = `${kindKey(type)}/${index}/${key}`
    const known = this.#longLists.get(list)
    if (known) return known as readonly T[]
    const merged = [...found.filter((object) => !changed.has(keyOfObject(object))), ...super.byIndex(type, index, key)]
    if (merged.length > LONG) this.#longLists.set(list, merged)
    return merged
  }

  override size(type: ResourceType): number {
    const changed = this.#changed.get(kindKey(type))
    if (!changed) return this.#base.size(type)
    const isInBase = (key: string) => {
      const { namespace, name } = splitObjectKey(key)
      return this.#base.get(type, namespace, name) !== undefined
    }
    const hidden = [...changed.keys()].filter(isInBase).length
    return this.#base.size(type) - hidden + super.size(type)
  }

  override serves(type: ResourceType): boolean {
    return this.#base.serves(type) || super.size(type) > 0
  }

  override kinds(): readonly ResourceType[] {
    return this.#base.kinds()
  }

  override typesWithIndex(index: string): readonly ResourceType[] {
    return this.#base.typesWithIndex(index)
  }

  override unsynced(): readonly ResourceType[] {
    return this.#base.unsynced()
  }

  override unavailable() {
    return this.#base.unavailable()
  }

  async read<T extends K8sObject>(
    type: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    const changed = this.#changed.get(kindKey(type))
    const key = objectKey(namespace, name)
    return changed?.has(key) ? (changed.get(key) as T | undefined) : this.#base.read(type, namespace, name)
  }

  readonly create = rejectWrite
  readonly update = rejectWrite
  readonly patch = rejectWrite
  readonly delete = rejectWrite

  async start(): Promise<void> {}

  async stop(): Promise<void> {}

  #isChanged(type: ResourceType, namespace: string | undefined, name: string): boolean {
    const changed = this.#changed.get(kindKey(type))
    return changed?.has(objectKey(type.namespaced ? namespace : undefined, name)) ?? false
  }

  #note(type: ResourceType, namespace: string | undefined, name: string, object: K8sObject | undefined): void {
    const key = kindKey(type)
    const changed = this.#changed.get(key) ?? new Map<string, K8sObject | undefined>()
    changed.set(objectKey(namespace, name), object)
    this.#changed.set(key, changed)
    this.#longLists.clear()
  }

  #kindOf(type: ResourceType) {
    const kind = this.kindCaches.get(kindKey(type))
    if (!kind) throw new Error(`${type.kind} objects are not cached`)
    return kind
  }
}

async function rejectWrite(): Promise<never> {
  throw new Error('an overlay takes no writes')
}
