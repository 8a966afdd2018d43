/** An index of cached objects: the objects of each key. A key with one object costs only a map entry. */

/** The most objects of a key in a plain array. In a longer array, the removal of an object would be too slow. */
const MAX_ARRAY = 32

export class ObjectIndex<T extends object> {
  readonly #buckets = new Map<string, T | readonly T[] | LargeBucket<T>>()

  /** The objects under `key`. Later changes do not alter the returned list, so a caller may keep it during an `await`. */
  get(key: string): readonly T[] {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return []
    if (bucket instanceof LargeBucket) return bucket.view()
    return isList(bucket) ? bucket : [bucket]
  }

  add(key: string, object: T): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) this.#buckets.set(key, object)
    else if (bucket instanceof LargeBucket) bucket.add(object)
    else {
      const grown = isList(bucket) ? [...bucket, object] : [bucket, object]
      this.#buckets.set(key, grown.length > MAX_ARRAY ? new LargeBucket(grown) : grown)
    }
  }

  remove(key: string, object: T): void {
    const bucket = this.#buckets.get(key)
    if (bucket === undefined) return
    if (bucket instanceof LargeBucket) {
      if (bucket.remove(object) === 0) this.#buckets.delete(key)
    } else if (isList(bucket)) {
      const rest = bucket.filter((member) => member !== object)
      const [only] = rest
      if (only === undefined) this.#buckets.delete(key)
      else this.#buckets.set(key, rest.length === 1 ? only : rest)
    } else if (bucket === object) this.#buckets.delete(key)
  }
}

/** Many objects under one key, as a set. Its list is created by the first read after a change. */
class LargeBucket<T> {
  readonly #members: Set<T>
  #view: readonly T[] | undefined

  constructor(members: readonly T[]) {
    this.#members = new Set(members)
  }

  add(object: T): void {
    this.#members.add(object)
    this.#view = undefined
  }

  remove(object: T): number {
    this.#members.delete(object)
    this.#view = undefined
    return this.#members.size
  }

  view(): readonly T[] {
    this.#view ??= [...this.#members]
    return this.#view
  }
}

// Array.isArray narrows to any[], and Kubernetes objects are never arrays.
function isList<T>(bucket: T | readonly T[]): bucket is readonly T[] {
  return Array.isArray(bucket)
}
