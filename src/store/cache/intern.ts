/** Shares equal strings and values between cached objects: 100,000 bindings name the same few clusters. */

interface Interner {
  /** Returns one shared string for equal texts. */
  string(text: string): string
  /** Returns one shared object for equal JSON values. It must not be changed. Undefined stays undefined. */
  json<T>(value: T): T
}

/**
 * Creates an interner with at most twice `limit` values. Two generations approximate an LRU cache: a value that was not used during a whole
 * generation is dropped. So values without repetition cannot fill the memory.
 */
export function createInterner(limit = 10_000): Interner {
  const strings = createGenerations<string>(limit)
  const values = createGenerations<unknown>(limit)
  return {
    string: (text) => strings(text, () => text),
    json: <T>(value: T): T => {
      if (typeof value === 'string') return strings(value, () => value) as T
      if (typeof value !== 'object' || value === null) return value
      // Equal objects with another order of keys are not shared. This costs memory only.
      return values(JSON.stringify(value), () => value) as T
    },
  }
}

function createGenerations<V>(limit: number): (key: string, make: () => V) => V {
  let young = new Map<string, V>()
  let old = new Map<string, V>()
  return (key, make) => {
    const known = young.get(key)
    if (known !== undefined) return known
    const value = old.get(key) ?? make()
    if (young.size >= limit) {
      old = young
      young = new Map()
    }
    young.set(key, value)
    return value
  }
}

/**
 * The interner of all cached kinds. Most cached objects are bindings, which have equal placements, policies and clusters. Sharing halves
 * the memory of 100,000 bindings.
 */
export const intern = createInterner()
