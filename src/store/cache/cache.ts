/** The objects of one kind in memory: single changes as a watch brings them, and whole states swapped in at once. */
import type { K8sObject } from '../../api/meta.ts'
import { type IndexFunctions, ObjectTable } from './object-table.ts'

/** One object before and after a change: `before` is absent if it is new, `after` if it is gone. */
export interface ObjectChange<T> {
  before?: T
  after?: T
}

/** A state that is being gathered, page by page, while readers still see the one before. */
export interface StagedObjects<T> {
  add(object: T): void
  readonly size: number
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

  /** Whether a complete state was put in at least once: before that, absent means unknown. */
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

  /** The objects under `key` in `index`; the list stays as it is when the cache changes. Throws for an unknown index. */
  byIndex(index: string, key: string): readonly T[] {
    return this.#table.byIndex(index, key)
  }

  /** Puts one object in. Undefined when the cache holds this very version already, as after a watch that was resumed. */
  put(object: T): ObjectChange<T> | undefined {
    const before = this.#table.get(object.metadata.namespace, object.metadata.name ?? '')
    if (before !== undefined && sameVersion(before, object)) return undefined
    this.#table.set(object)
    return before === undefined ? { after: object } : { before, after: object }
  }

  /** Takes one object out. Undefined when it was not there. */
  remove(namespace: string | undefined, name: string): ObjectChange<T> | undefined {
    const before = this.#table.delete(namespace, name)
    return before === undefined ? undefined : { before }
  }

  /**
   * Begins a new state beside the present one; a second call drops the first one's. An object whose version is cached already
   * is taken from there, so that a relist of a large kind does not hold everything twice.
   */
  stage(): StagedObjects<T> {
    const staged = new ObjectTable(this.#indexes)
    this.#staged = staged
    return {
      add: (object) => {
        const present = this.#table.get(object.metadata.namespace, object.metadata.name ?? '')
        staged.set(present !== undefined && sameVersion(present, object) ? present : object)
      },
      get size() {
        return staged.size
      },
    }
  }

  /**
   * Replaces all objects by the staged ones and marks the cache synced. Returns the differences, deletions included. They are
   * computed while the caller iterates, so it can pause, but must finish before the next change. The first
   * state has no differences: the time of the first read says nothing about when the objects were created.
   */
  commit(): Iterable<ObjectChange<T>> {
    const before = this.#synced ? this.#table : undefined
    const after = this.#staged ?? new ObjectTable(this.#indexes)
    this.#table = after
    this.#staged = undefined
    this.#synced = true
    return before ? differences(before, after) : []
  }

  /** Replaces everything by `objects`, at once. Returns the differences as `commit` does. */
  replaceAll(objects: Iterable<T>): ObjectChange<T>[] {
    const staged = this.stage()
    for (const object of objects) staged.add(object)
    return [...this.commit()]
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

/** Equal resource versions of one object mean equal objects; the version itself is opaque, so nothing more can be told. */
function sameVersion(a: K8sObject, b: K8sObject): boolean {
  const version = a.metadata.resourceVersion
  return version !== undefined && version === b.metadata.resourceVersion && a.metadata.uid === b.metadata.uid
}
