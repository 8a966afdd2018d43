/** A budget for the bytes of requests and answers in memory: beyond it, the one that occupies most for longest is given up. */

/** The bytes of one body or one answer. */
export interface Holding {
  /** Counts more bytes. This may give up other holdings, or this one: then it returns false. */
  grow(bytes: number): boolean
  /** Counts its bytes no longer. Callable twice. */
  release(): void
}

export interface ByteBudget {
  /** @param giveUp called at most once, when its bytes are needed for others; they are released already */
  open(giveUp: () => void): Holding
  /** Bytes that are counted now. */
  used(): number
}

interface Entry {
  bytes: number
  isOpen: boolean
  readonly openedAt: number
  readonly giveUp: () => void
}

/**
 * Opens a budget. A holding costs its bytes times its age: a complete request of an API server arrives within milliseconds, so that
 * slow and large senders are given up before it, however many there are.
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
    entries.delete(entry)
  }

  function makeRoom(): void {
    const at = now()
    while (used > limit) {
      const dearest = dearestOf(entries, at)
      if (dearest === undefined) return
      release(dearest)
      dearest.giveUp()
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

/** The holding with the highest cost; of equal ones the oldest. Undefined when none has any bytes. */
function dearestOf(entries: Iterable<Entry>, at: number): Entry | undefined {
  let dearest: Entry | undefined
  let highest = 0
  for (const entry of entries) {
    // One that began in this very millisecond has a cost as well.
    const cost = entry.bytes * (at - entry.openedAt + 1)
    if (cost <= highest) continue
    dearest = entry
    highest = cost
  }
  return dearest
}
