/** One index over cached objects: key → the objects under it, at the price of a map entry while a key has one object. */

/** Up to here a key's objects are a plain array; beyond it, removing from the middle would cost too much. */
const MAX_ARRAY = 32

export class ObjectIndex<T extends object> {
  readonly #buckets = new Map<string, T | readonly T[] | LargeBucket<T>>()

  /** The objects under `key`: a list that later changes leave alone, so a caller may keep it over an `await`. */
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

/** Many objects under one key: a set. Its list is made when it is read between two changes. */
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
