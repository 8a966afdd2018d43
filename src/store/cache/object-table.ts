/** Objects by namespace and name, with their indexes. A cache fills a new table and then replaces the old one. */
import type { K8sObject } from '../../api/meta.ts'
import { ObjectIndex } from './object-index.ts'

/** Index name → the keys of an object. The functions must be pure, because the keys are computed again to remove an object. */
export type IndexFunctions<T> = Record<string, (object: T) => readonly string[]>

/** Nested maps instead of joined keys: the strings are those of the objects, so that keys need no memory. */
export class ObjectTable<T extends K8sObject> {
  readonly #functions: IndexFunctions<T>
  readonly #indexes = new Map<string, ObjectIndex<T>>()
  readonly #namespaces = new Map<string, Map<string, T>>()
  #size = 0

  constructor(functions: IndexFunctions<T>) {
    this.#functions = functions
    for (const name of Object.keys(functions)) this.#indexes.set(name, new ObjectIndex())
  }

  get size(): number {
    return this.#size
  }

  get(namespace: string | undefined, name: string): T | undefined {
    return this.#namespaces.get(namespace ?? '')?.get(name)
  }

  *values(): Generator<T, void, undefined> {
    for (const objects of this.#namespaces.values()) yield* objects.values()
  }

  /** The objects under `key`. Throws for an unknown index, which is a mistake of the caller. */
  byIndex(index: string, key: string): readonly T[] {
    const found = this.#indexes.get(index)
    if (found === undefined) throw new Error(`there is no index ${JSON.stringify(index)}`)
    return found.get(key)
  }

  /** Adds an object, or replaces the object with the same name. If an index function throws, the table does not change. */
  set(object: T): void {
    const keys = this.#keysOf(object)
    const namespace = object.metadata.namespace ?? ''
    const name = object.metadata.name ?? ''
    this.delete(namespace, name)
    let objects = this.#namespaces.get(namespace)
    if (objects === undefined) {
      objects = new Map()
      this.#namespaces.set(namespace, objects)
    }
    objects.set(name, object)
    this.#size += 1
    for (const [index, key] of keys) index.add(key, object)
  }

  /** Removes an object and returns it. */
  delete(namespace: string | undefined, name: string): T | undefined {
    const objects = this.#namespaces.get(namespace ?? '')
    const object = objects?.get(name)
    if (objects === undefined || object === undefined) return undefined
    for (const [index, key] of this.#keysOf(object)) index.remove(key, object)
    objects.delete(name)
    if (objects.size === 0) this.#namespaces.delete(namespace ?? '')
    this.#size -= 1
    return object
  }

  #keysOf(object: T): [ObjectIndex<T>, string][] {
    const keys: [ObjectIndex<T>, string][] = []
    for (const [name, index] of this.#indexes) {
      // Without the set, an object with the same key twice would be found twice.
      for (const key of new Set(this.#functions[name]?.(object))) keys.push([index, key])
    }
    return keys
  }
}
