/** Counts objects that have reached a state, and waits until there are enough of them. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { log } from './log.ts'

export interface Tally {
  /** Of an object's latest version; `at` is on the clock of performance.now(). */
  take(object: KubeObject, at: number): void
  /** How many different objects there were. */
  seen(): number
  count(): number
  /** When anything was heard last. */
  heardAt(): number
  /** When the count changed last. */
  changedAt(): number
}

interface Goal {
  /** For people, as in `claims are Bound`. */
  what: string
  tally: Tally
  goal: number
}

const STALLED_MS = 60_000
const LOOK_MS = 100
const TELL_MS = 10_000

/** Counts the objects that have reached a state, which they may leave again. */
export function openTally(hasReached: (object: KubeObject) => boolean): Tally {
  const states = new Map<string, boolean>()
  let count = 0
  let heardAt = 0
  let changedAt = 0
  return {
    take(object: KubeObject, at: number) {
      const { name } = object.metadata
      const before = states.get(name) ?? false
      const isReached = hasReached(object)
      states.set(name, isReached)
      heardAt = at
      if (isReached === before) return
      count += isReached ? 1 : -1
      changedAt = at
    },
    seen: () => states.size,
    count: () => count,
    heardAt: () => heardAt,
    changedAt: () => changedAt,
  }
}

/** Throws when nothing happens for long. */
export async function reached(goals: Goal[]): Promise<void> {
  const begun = performance.now()
  let told = begun
  while (goals.some(({ tally, goal }) => tally.count() < goal)) {
    await sleep(LOOK_MS)
    const now = performance.now()
    const state = goals.map(({ what, tally, goal }) => `${tally.count()} of ${goal} ${what}`).join(', ')
    if (now - told > TELL_MS) {
      log(state)
      told = now
    }
    if (now - Math.max(begun, ...goals.map(({ tally }) => tally.heardAt())) > STALLED_MS) {
      throw new Error(`stalled: ${state}`)
    }
  }
}
