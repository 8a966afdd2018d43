/** A queue of keys: each key at most once, one run per key at a time, by turns, with delays and back-off after failures. */
import { backoffMs } from '../base/time/backoff.ts'
import { DueKeys } from './due-keys.ts'

export interface QueueOptions {
  /**
   * Reconciles one key. Returns the ms until its next run; undefined for none. If it throws, the error is reported and the run is repeated.
   */
  run(key: string): Promise<number | undefined>
  /** How many keys run at the same time; asked before each run. */
  concurrency: () => number
  /** Returns the turn of a key, by default the part before its last slash: mostly a namespace. The runs alternate between the turns. */
  turnOf?(key: string): string
  onError(key: string, error: unknown, retryInMs: number): void
  /** For metrics: a key that was neither due nor running became due. */
  onAdd?(): void
  /** For metrics: how long a key waited and ran, in ms. */
  onDone?(key: string, timing: { waitedMs: number; ranMs: number; failed: boolean }): void
}

export interface Queue {
  /** Requests a run, now or after `delayMs`. Of two requests, the earlier one counts. */
  add(key: string, delayMs?: number): void
  /** How many keys are due. */
  depth(): number
  /** How many keys are due, and for how long in ms the oldest key waits and the oldest run runs; 0 without one. */
  state(): { depth: number; oldestMs: number; longestRunMs: number }
  /** Starts no more runs; resolves when the current runs have ended. */
  stop(): Promise<void>
}

interface Run {
  since: number
  ended?: Promise<void>
}

const BACKOFF = { firstMs: 5, lastMs: 300_000 }
/** Node fires a longer timer at once. After this time, the run finds that it is early, and requests the rest. */
const MAX_DELAY_MS = 2 ** 31 - 1
/** Runs that start before the queue yields to the event loop: without it, a backlog of unchanged keys is one long run of microtasks. */
const RUNS_BEFORE_YIELD = 25

/**
 * Opens a queue with the rules of client-go (util/workqueue). A key never runs twice at the same time; a key that is added during its run
 * runs again afterwards. Failures back off per key, and a success resets the back-off.
 */
export function openQueue({ run, concurrency, turnOf = prefixOf, onError, onAdd, onDone }: QueueOptions): Queue {
  const due = new DueKeys()
  /** In the order of the times. */
  const running = new Map<string, Run>()
  const again = new Set<string>()
  const timers = new Map<string, { timer: NodeJS.Timeout; at: number }>()
  const failures = new Map<string, number>()
  let stopped = false
  let startedRuns = 0
  let yielding = false

  function add(key: string, delayMs = 0): void {
    if (stopped) return
    if (delayMs <= 0) {
      cancel(key)
      if (!due.has(key) && !again.has(key)) {
        if (running.has(key)) again.add(key)
        else due.add(key, turnOf(key), performance.now())
        onAdd?.()
      }
      pump()
      return
    }
    const waitMs = Math.min(delayMs, MAX_DELAY_MS)
    const at = performance.now() + waitMs
    const waiting = timers.get(key)
    if (due.has(key) || (waiting && waiting.at <= at)) return
    cancel(key)
    timers.set(key, { at, timer: setTimeout(() => add(key), waitMs) })
  }

  function cancel(key: string): void {
    clearTimeout(timers.get(key)?.timer)
    timers.delete(key)
  }

  function pump(): void {
    while (due.size > 0) {
      if (stopped || yielding || running.size >= concurrency()) return
      if (startedRuns === RUNS_BEFORE_YIELD) {
        yieldToEventLoop()
        return
      }
      const next = due.take()
      if (!next) return
      const { key, since } = next
      startedRuns++
      // Set before the run begins: a run that adds its own key immediately must run again afterwards, and not inside itself.
      const begun: Run = { since: performance.now() }
      running.set(key, begun)
      begun.ended = runOnce(key, since)
    }
  }

  function yieldToEventLoop(): void {
    yielding = true
    setImmediate(() => {
      yielding = false
      startedRuns = 0
      pump()
    })
  }

  async function runOnce(key: string, since: number): Promise<void> {
    const started = performance.now()
    let nextMs: number | undefined
    let failed = false
    try {
      nextMs = await run(key)
      failures.delete(key)
    } catch (error) {
      failed = true
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      nextMs = backoffMs(BACKOFF, count)
      onError(key, error, nextMs)
    }
    onDone?.(key, { waitedMs: started - since, ranMs: performance.now() - started, failed })
    running.delete(key)
    if (again.delete(key)) add(key)
    else if (nextMs !== undefined) add(key, Math.max(nextMs, 1))
    pump()
  }

  return {
    add,
    depth: () => due.size,
    state() {
      const now = performance.now()
      const ageOf = (since: number | undefined) => (since === undefined ? 0 : now - since)
      const [longest] = running.values()
      return { depth: due.size, oldestMs: ageOf(due.oldest()), longestRunMs: ageOf(longest?.since) }
    },
    async stop() {
      stopped = true
      for (const key of [...timers.keys()]) cancel(key)
      due.clear()
      await Promise.all([...running.values()].map(({ ended }) => ended))
    },
  }
}

function prefixOf(key: string): string {
  return key.slice(0, Math.max(0, key.lastIndexOf('/')))
}
