/** Keeps the lists of the page current: they are computed again after changes, and seldom enough to leave the process idle. */
import type { Clock } from '../../base/time/clock.ts'
import type { ObjectStore } from '../../store/store.ts'
import type { Lists } from './lists.ts'

/** One state of the lists. */
export interface Snapshot {
  /** Grows with each state, also after a restart: an open page compares what it has from the former server. */
  revision: number
  lists: Lists
}

export interface View {
  /** Returns the current state. It may be as old as `MIN_INTERVAL_MS`, or as ten times the duration of its computation. */
  current(): Promise<Snapshot>
  /** Calls the listener with each new state, until the returned function is called. */
  subscribe(listener: (snapshot: Snapshot) => void): () => void
  close(): void
}

const MIN_INTERVAL_MS = 500
/** A computation may use a tenth of a core. */
const IDLE_FACTOR = 10
/** Ages change without a change of objects: locations become stale. */
const MAX_AGE_MS = 15_000

/** Opens the view of a store. `compute` returns the lists of its objects. */
export function openView(store: ObjectStore, compute: () => Promise<Lists>, clock: Clock): View {
  const listeners = new Set<(snapshot: Snapshot) => void>()
  let isChanged = true
  let revision = clock.epochMs()
  let snapshot: Snapshot | undefined
  let computedAt = 0
  let interval = MIN_INTERVAL_MS
  let running: Promise<Snapshot> | undefined
  let isWatching = false
  let cancelTimer: (() => void) | undefined
  const unsubscribe = store.subscribe(() => {
    isChanged = true
  })

  async function refresh(): Promise<Snapshot> {
    isChanged = false
    const startedAt = clock.now()
    const lists = await compute().catch((error) => {
      isChanged = true
      throw error
    })
    computedAt = clock.now()
    interval = Math.max(MIN_INTERVAL_MS, (computedAt - startedAt) * IDLE_FACTOR)
    revision += 1
    snapshot = { revision, lists }
    for (const listener of listeners) listener(snapshot)
    return snapshot
  }

  function current(): Promise<Snapshot> {
    if (running) return running
    const age = clock.now() - computedAt
    if (snapshot && (age < interval || (!isChanged && age < MAX_AGE_MS))) return Promise.resolve(snapshot)
    running = refresh().finally(() => {
      running = undefined
    })
    return running
  }

  /** Looks for changes as long as there are listeners. */
  function watch(): void {
    if (isWatching || listeners.size === 0) return
    isWatching = true
    cancelTimer = clock.after(MIN_INTERVAL_MS, () => {
      // The next request gets the error; until then, the last state stays.
      const looked = current().catch(() => undefined)
      void looked.then(() => {
        isWatching = false
        watch()
      })
    })
  }

  return {
    current,
    subscribe(listener) {
      listeners.add(listener)
      watch()
      return () => {
        listeners.delete(listener)
      }
    },
    close() {
      unsubscribe()
      cancelTimer?.()
      listeners.clear()
    },
  }
}
