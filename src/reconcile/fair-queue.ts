/**
 * A queue that namespaces share: each gets its turn, whatever the others have in the queue. An item may wait for several namespaces, and is
 * taken in the first turn of one of them.
 */
export class FairQueue<T> {
  /** The items of each namespace in the order of their arrival. The namespace whose turn is next is the first one. */
  readonly #turns = new Map<string, Set<T>>()
  readonly #namespaces = new Map<T, Set<string>>()

  /** The number of items. */
  get size(): number {
    return this.#namespaces.size
  }

  /** The number of items of a namespace. */
  sizeOf(namespace: string): number {
    return this.#turns.get(namespace)?.size ?? 0
  }

  has(item: T): boolean {
    return this.#namespaces.has(item)
  }

  /** Adds an item, or adds namespaces to an item that waits. Items without a namespace share one turn. */
  add(item: T, namespaces: readonly string[]): void {
    const known = this.#namespaces.get(item) ?? new Set()
    this.#namespaces.set(item, known)
    const wanted = known.size + namespaces.length === 0 ? [''] : namespaces
    for (const namespace of wanted) {
      known.add(namespace)
      const items = this.#turns.get(namespace) ?? new Set()
      items.add(item)
      this.#turns.set(namespace, items)
    }
  }

  delete(item: T): void {
    for (const namespace of this.#namespaces.get(item) ?? []) {
      const items = this.#turns.get(namespace)
      items?.delete(item)
      if (items?.size === 0) this.#turns.delete(namespace)
    }
    this.#namespaces.delete(item)
  }

  /** Removes the next item and returns it; undefined when the queue is empty. */
  take(): T | undefined {
    for (const [namespace, items] of this.#turns) {
      for (const item of items) {
        // The namespace is the last one now, unless it has nothing else.
        this.#turns.delete(namespace)
        this.#turns.set(namespace, items)
        this.delete(item)
        return item
      }
    }
    return undefined
  }
}
