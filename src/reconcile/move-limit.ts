/**
 * Limits how many workloads move per minute. Namespaces take turns: one in which many workloads move delays a workload of another one by a
 * single move.
 */
import { splitObjectKey } from '../api/meta.ts'
import { type Rate, TokenBucket } from '../base/time/token-bucket.ts'

/** A move that waits longer asks again after this time, since moves before it may be withdrawn. Ten thousand plans take half a second. */
const MAX_WAIT_MS = 60_000

/** A move that has not asked for so long has lost its place. Otherwise those behind it might wait for ever. */
const LOST_AFTER_MS = 2 * MAX_WAIT_MS

/** `number` grows in the order of arrival. */
interface Place {
  number: number
  askedAt: number
}

/** The moves of a namespace that wait, by the key of the binding, in the order of their arrival. */
class Turn {
  readonly places = new Map<string, Place>()
  #next = 0

  /** Returns how many moves of the namespace are before this one, including those that were withdrawn. */
  ask(key: string, now: number): number {
    const place = this.places.get(key) ?? { number: this.#next++, askedAt: now }
    place.askedAt = now
    this.places.set(key, place)
    const [first = place] = this.places.values()
    return place.number - first.number
  }
}

export class MoveLimit {
  readonly #bucket: TokenBucket
  readonly #now: () => number
  /** By namespace. That of the next turn is the first one. */
  readonly #turns = new Map<string, Turn>()

  /** `now` is in ms on any clock. */
  constructor(rate: Rate, now: () => number) {
    this.#now = now
    this.#bucket = new TokenBucket(rate, now())
  }

  /**
   * Requests permission to move the workload of a binding now. Returns 0, or the ms after which the caller asks again. Until it does, or
   * withdraws the request, the request keeps its place.
   */
  take(key: string): number {
    const namespace = namespaceOf(key)
    const now = this.#now()
    this.#forgetLost(now)
    const turn = this.#turns.get(namespace) ?? new Turn()
    const own = turn.ask(key, now)
    this.#turns.set(namespace, turn)
    const waitMs = this.#bucket.take(now, this.#movesBefore(namespace, own))
    if (waitMs > 0) return Math.min(waitMs, MAX_WAIT_MS)
    this.withdraw(key)
    // The namespace is the last one now, unless nothing else of it waits.
    if (this.#turns.delete(namespace)) this.#turns.set(namespace, turn)
    return 0
  }

  /** Gives up the place of a workload that does not move any more. */
  withdraw(key: string): void {
    const namespace = namespaceOf(key)
    const turn = this.#turns.get(namespace)
    turn?.places.delete(key)
    if (turn?.places.size === 0) this.#turns.delete(namespace)
  }

  #forgetLost(now: number): void {
    for (const [namespace, { places }] of this.#turns) {
      for (const [key, { askedAt }] of places) {
        if (now - askedAt < LOST_AFTER_MS) break
        places.delete(key)
      }
      if (places.size === 0) this.#turns.delete(namespace)
    }
  }

  /** Returns how many moves are before that of a namespace which has `own` moves before it. */
  #movesBefore(namespace: string, own: number): number {
    let moves = own
    let isBefore = true
    for (const [other, { places }] of this.#turns) {
      if (other === namespace) isBefore = false
      else moves += Math.min(places.size, isBefore ? own + 1 : own)
    }
    return moves
  }
}

/** Returns the namespace of a binding; empty for a ClusterResourceBinding. */
function namespaceOf(key: string): string {
  return splitObjectKey(key).namespace ?? ''
}
