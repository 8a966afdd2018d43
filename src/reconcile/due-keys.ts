/**
 * The keys that are due in a queue. They are taken by turns, so that many keys of one namespace delay a key of another one by one run. After a start
 * these are all keys, and a `FairQueue`, whose items may have several namespaces, would need twice the memory.
 */

export class DueKeys {
  /** The keys of each turn, and since when they are due, in order. That of the next turn is the first one. */
  readonly #turns = new Map<string, Map<string, number>>()
  readonly #turnOf = new Map<string, string>()

  get size(): number {
    return this.#turnOf.size
  }

  has(key: string): boolean {
    return this.#turnOf.has(key)
  }

  /** Adds a key that is not due yet; `since` is in ms on any clock, and does not decrease from call to call. */
  add(key: string, turn: string, since: number): void {
    const keys = this.#turns.get(turn) ?? new Map<string, number>()
    this.#turns.set(turn, keys.set(key, since))
    this.#turnOf.set(key, turn)
  }

  /** Removes the next key, and returns it with the time since when it was due; undefined if none is. */
  take(): { key: string; since: number } | undefined {
    for (const [turn, keys] of this.#turns) {
      for (const [key, since] of keys) {
        keys.delete(key)
        this.#turnOf.delete(key)
        // The last one now, unless it has no other key.
        this.#turns.delete(turn)
        if (keys.size > 0) this.#turns.set(turn, keys)
        return { key, since }
      }
    }
    return undefined
  }

  /** Since when the oldest key is due; undefined if none is. */
  oldest(): number | undefined {
    let oldest: number | undefined
    for (const keys of this.#turns.values()) {
      const [first] = keys.values()
      if (first !== undefined && (oldest === undefined || first < oldest)) oldest = first
    }
    return oldest
  }

  clear(): void {
    this.#turns.clear()
    this.#turnOf.clear()
  }
}
