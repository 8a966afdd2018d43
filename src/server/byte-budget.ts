/** A budget of bytes for requests and responses in memory. When it is exceeded, the holding with the highest bytes × age is dropped. */

/** The bytes of one body or one response. */
export interface Holding {
  /** Counts more bytes. This may drop other holdings or this one; it returns false if this one is dropped. */
  grow(bytes: number): boolean
  /** Stops counting the bytes. May be called twice. */
  release(): void
}

export interface ByteBudget {
  /** @param giveUp called at most once, after the budget dropped the holding */
  open(giveUp: () => void): Holding
  used(): number
}

interface Entry {
  bytes: number
  isOpen: boolean
  readonly openedAt: number
  /** Absent after the release. */
  giveUp: (() => void) | undefined
}

/**
 * Opens a budget. The cost of a holding is bytes × age. A request of an API server arrives within milliseconds, so slow and large senders
 * are dropped before it, however many there are.
 *
 * @param now a clock in milliseconds
 */
export function openByteBudget(limit: number, now: () => number = () => performance.now()): ByteBudget {
  const entries = new Set<Entry>()
  let used = 0

  function release(entry: Entry): void {
    used -= entry.bytes
    entry.bytes = 0
    entry.isOpen = false
    // V8 keeps the deleted entries of a Set that is used for long until the next major collection, and with them the whole request.
    entry.giveUp = undefined
    entries.delete(entry)
  }

  function makeRoom(): void {
    const at = now()
    while (used > limit) {
      const costliest = findCostliest(entries, at)
      if (costliest === undefined) return
      const { giveUp } = costliest
      release(costliest)
      giveUp?.()
    }
  }

  return {
    open(giveUp) {
      const entry: Entry = { bytes: 0, isOpen: true, openedAt: now(), giveUp }
      entries.add(entry)
      return {
        grow(bytes) {
          if (!entry.isOpen) return false
          entry.bytes += bytes
          used += bytes
          if (used > limit) makeRoom()
          return entry.isOpen
        },
        release: () => release(entry),
      }
    },
    used: () => used,
  }
}

/** Returns the holding with the highest cost; of equal ones the oldest. Undefined if none has bytes. */
function findCostliest(entries: Iterable<Entry>, at: number): Entry | undefined {
  let costliest: Entry | undefined
  let highest = 0
  for (const entry of entries) {
    // The age counts from 1 ms, so that a new holding has a cost too.
    const cost = entry.bytes * (at - entry.openedAt + 1)
    if (cost <= highest) continue
    costliest = entry
    highest = cost
  }
  return costliest
}
