/** Leader election: the replica that holds the Lease works; the others wait until it releases the Lease or does not renew it. */

import { LeaseLock, type LeaseLockInput, type LeaseOutcome } from '../store/cluster/lease.ts'
import { type Clock, sleep, systemClock } from '../time/clock.ts'

export interface LeaderInput extends Pick<LeaseLockInput, 'store' | 'namespace' | 'name' | 'identity' | 'now'> {
  /**
   * The work of the leader. `signal` aborts when it has to stop; the promise settles when it has. After a lost lease another replica
   * may start 5 s later. When it rejects, the lease is given back and the election goes on.
   */
  onStarted(signal: AbortSignal): Promise<void>
  /** The work has stopped. */
  onStopped(): void
  /** Something went wrong, in the work or at the Lease; the election goes on. */
  onError(error: unknown): void
  /** For every wait. Default: the system's. */
  clock?: Clock
}

export interface Leader {
  /** Whether this replica is to work now. */
  isLeader(): boolean
  /** Stops the work, waits for it, gives the lease back. Callable at any time, also twice. */
  stop(): Promise<void>
}

/** The defaults of client-go. A leader that cannot renew stops 5 s before another replica may take over. */
const LEASE_SECONDS = 15
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2000
/** Each wait is up to this part longer, so that replicas that started together do not ask together. */
const JITTER = 0.2

/**
 * Takes part in an election until it is stopped. The store should have a write limit of its own: renewals that queue
 * behind the writes of the work come too late. A second store over the same connection, without kinds, costs nothing.
 *
 *     waiting ── free, or not renewed for 15 s ──▶ leading ── stop, or the work failed ──▶ stopping, renewed ──▶ given back
 *        ▲                                            │
 *        └────────── the work has stopped ◀── taken by another, or not renewed for 10 s
 */
export function startLeader(input: LeaderInput): Leader {
  const election = new Election(input)
  const ended = election.run()
  return {
    isLeader: () => election.isLeading,
    stop: () => {
      election.stop()
      return ended
    },
  }
}

class Election {
  readonly #input: LeaderInput
  readonly #clock: Clock
  readonly #lock: LeaseLock
  readonly #stop = new AbortController()
  /** Aborted when the work has to stop; absent while there is none. */
  #work: AbortController | undefined

  constructor(input: LeaderInput) {
    this.#input = input
    this.#clock = input.clock ?? systemClock
    const { store, namespace, name, identity, now } = input
    if (identity === '')
      throw new Error('leader election needs an identity: an empty holderIdentity means that the Lease is free')
    const clock = this.#clock
    this.#lock = new LeaseLock({ store, namespace, name, identity, now, clock, durationSeconds: LEASE_SECONDS })
  }

  get isLeading(): boolean {
    return this.#work !== undefined && !this.#work.signal.aborted
  }

  stop(): void {
    this.#stop.abort()
    this.#work?.abort()
  }

  /** Resolves once stopped; never rejects. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const validUntilMs = this.#clock.now() + RENEW_DEADLINE_MS
      const outcome = await this.#take(validUntilMs)
      // An answer that was long under way, in a process that stood still, says nothing any more.
      if (outcome === 'held' && this.#clock.now() < validUntilMs) {
        const isOurs = this.#stop.signal.aborted || (await this.#lead(validUntilMs))
        if (isOurs) await this.#within(RENEW_DEADLINE_MS, () => this.#lock.release())
      }
      // A replica that waits for a Lease to expire checks at that moment, not up to one retry later.
      const untilFreeMs = outcome === 'taken' ? this.#lock.msUntilFree() : Number.POSITIVE_INFINITY
      await sleep(this.#clock, Math.min(this.#retryMs(), untilFreeMs), this.#stop.signal)
    }
  }

  /** Works while this replica has the lease: until `validUntilMs` and, by every renewal, for longer. False when the lease was lost. */
  async #lead(validUntilMs: number): Promise<boolean> {
    const work = new AbortController()
    const over = new AbortController()
    this.#work = work
    const ended = this.#runWork(work.signal).then(() => over.abort())
    const isOurs = await this.#keep(validUntilMs, over.signal)
    work.abort()
    await ended
    this.#work = undefined
    await this.#report(() => this.#input.onStopped())
    return isOurs
  }

  #runWork(signal: AbortSignal): Promise<void> {
    return this.#report(async () => {
      await this.#input.onStarted(signal)
      // Work that only starts something goes on until the signal aborts.
      await aborted(signal)
    })
  }

  /** Renews until the work is over, also while it stops. False when the lease was lost. */
  async #keep(validUntilMs: number, over: AbortSignal): Promise<boolean> {
    let untilMs = validUntilMs
    for (;;) {
      await sleep(this.#clock, Math.min(this.#retryMs(), untilMs - this.#clock.now()), over)
      if (over.aborted) return true
      const askedAtMs = this.#clock.now()
      if (askedAtMs >= untilMs) return false
      const outcome = await this.#take(untilMs)
      if (outcome === 'taken') return false
      // From when it was asked for: the others cannot have seen the renewal earlier than that.
      if (outcome === 'held') untilMs = askedAtMs + RENEW_DEADLINE_MS
    }
  }

  #take(untilMs: number): Promise<LeaseOutcome | undefined> {
    return this.#within(untilMs - this.#clock.now(), (signal) => this.#lock.take(signal))
  }

  /** Undefined when it failed, or there was no answer in time: a store that hangs must not keep a leader in office. */
  #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    return this.#report(async () => {
      const late = new AbortController()
      const cancel = this.#clock.after(ms, () =>
        late.abort(new Error(`no answer about the lease within ${Math.round(ms)} ms`)),
      )
      try {
        return await Promise.race([ask(late.signal), rejected(late.signal)])
      } finally {
        cancel()
      }
    })
  }

  /** Reports an error of the work or of the store; the error ends nothing. */
  async #report<T>(run: () => T | Promise<T>): Promise<T | undefined> {
    try {
      return await run()
    } catch (error) {
      this.#input.onError(error)
      return undefined
    }
  }

  #retryMs(): number {
    return RETRY_MS * (1 + JITTER * this.#clock.random())
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
}

async function rejected(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
}
