/**
 * Limits how many workloads move per minute. Namespaces take turns: one in which many workloads move delays a workload of another one by a
 * single move.
 */
import { splitObjectKey } from '../api/meta.ts'
import { type Rate, TokenBucket } from '../base/token-bucket.ts'

/** A move that waits longer asks again after this time, since moves before it may be withdrawn. Ten thousand plans take half a second. */
const MAX_WAIT_MS = 60_000

/** The moves of a namespace that wait, by the key of the binding. Each has a number, which grows in the order of their arrival. */
class Turn {
  readonly numbers = new Map<string, number>()
  #next = 0

  add(key: string): void {
    if (!this.numbers.has(key)) this.numbers.set(key, this.#next++)
  }

  /** Returns how many moves of the namespace are before this one, including those that were withdrawn. */
  before(key: string): number {
    const [first = 0] = this.numbers.values()
    return (this.numbers.get(key) ?? first) - first
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
    const turn = this.#turns.get(namespace) ?? new Turn()
    turn.add(key)
    this.#turns.set(namespace, turn)
    const waitMs = this.#bucket.take(this.#now(), this.#movesBefore(namespace, turn.before(key)))
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
    turn?.numbers.delete(key)
    if (turn?.numbers.size === 0) this.#turns.delete(namespace)
  }

  /** Returns how many moves are before that of a namespace which has `own` moves before it. */
  #movesBefore(namespace: string, own: number): number {
    let moves = own
    let isBefore = true
    for (const [other, { numbers }] of this.#turns) {
      if (other === namespace) isBefore = false
      else moves += Math.min(numbers.size, isBefore ? own + 1 : own)
    }
    return moves
  }
}

/** Returns the namespace of a binding; empty for a ClusterResourceBinding. */
function namespaceOf(key: string): string {
  return splitObjectKey(key).namespace ?? ''
}
