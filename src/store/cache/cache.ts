/** Caches the objects of one kind. Watch events change single objects, and a list replaces all objects at once. */
import type { K8sObject } from '../../api/meta.ts'
import { type IndexFunctions, ObjectTable } from './object-table.ts'

/** An object before and after a change. `before` is absent for a new object, `after` for a deleted one. */
export interface ObjectChange<T> {
  before?: T
  after?: T
}

/** A new state that a list fills page by page. Readers see the previous state until `commit`. */
export interface StagedObjects<T> {
  add(object: T): void
}

export class ObjectCache<T extends K8sObject> {
  readonly #indexes: IndexFunctions<T>
  #table: ObjectTable<T>
  #staged: ObjectTable<T> | undefined
  #synced = false

  constructor(indexes: IndexFunctions<T> = {}) {
    this.#indexes = indexes
    this.#table = new ObjectTable(indexes)
  }

  /** Whether a complete state was committed at least once. Before that, a missing object is unknown. */
  get synced(): boolean {
    return this.#synced
  }

  get size(): number {
    return this.#table.size
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#table.get(namespace, name)
  }

  values(): Iterable<T> {
    return this.#table.values()
  }

  /** The objects under `key` in `index`. Later changes do not alter the returned list. Throws for an unknown index. */
  byIndex(index: string, key: string): readonly T[] {
    return this.#table.byIndex(index, key)
  }

  /** Adds or replaces an object. Returns undefined when the cache has the same version, as after a watch that was resumed. */
  put(object: T): ObjectChange<T> | undefined {
    const before = this.#table.get(object.metadata.namespace, object.metadata.name ?? '')
    if (before !== undefined && sameVersion(before, object)) return undefined
    this.#table.set(object)
    return before === undefined ? { after: object } : { before, after: object }
  }

  /** Removes an object. Returns undefined when the cache does not have it. */
  remove(namespace: string | undefined, name: string): ObjectChange<T> | undefined {
    const before = this.#table.delete(namespace, name)
    return before === undefined ? undefined : { before }
  }

  /**
   * Begins a new state beside the current one. A second call discards the state of the first. An object whose version is cached already is
   * reused, so that a relist of a large kind does not need twice the memory.
   */
  stage(): StagedObjects<T> {
    const staged = new ObjectTable(this.#indexes)
    this.#staged = staged
    return {
      add: (object) => {
        const present = this.#table.get(object.metadata.namespace, object.metadata.name ?? '')
        staged.set(present !== undefined && sameVersion(present, object) ? present : object)
      },
    }
  }

  /**
   * Replaces all objects by the staged ones and marks the cache synced. Returns the differences, deletions included. They are computed
   * during the iteration, so the caller can pause, but must finish before the next change. The first state has no differences, because its
   * objects may have existed for long.
   */
  commit(): Iterable<ObjectChange<T>> {
    const before = this.#synced ? this.#table : undefined
    const after = this.#staged ?? new ObjectTable(this.#indexes)
    this.#table = after
    this.#staged = undefined
    this.#synced = true
    return before ? differences(before, after) : []
  }
}

function* differences<T extends K8sObject>(
  before: ObjectTable<T>,
  after: ObjectTable<T>,
): Generator<ObjectChange<T>, void, undefined> {
  for (const object of before.values()) {
    if (after.get(object.metadata.namespace, object.metadata.name ?? '') === undefined) yield { before: object }
  }
  for (const object of after.values()) {
    const old = before.get(object.metadata.namespace, object.metadata.name ?? '')
    if (old === object) continue
    yield old === undefined ? { after: object } : { before: old, after: object }
  }
}

/** Whether two objects are the same version. Resource versions are opaque: they can only be compared for equality. */
function sameVersion(a: K8sObject, b: K8sObject): boolean {
  const version = a.metadata.resourceVersion
  return version !== undefined && version === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid
}
