/** Leader election: the replica that holds the Lease works. The other replicas wait until it releases the Lease or does not renew it. */

import { LeaseLock, type LeaseLockInput, type LeaseOutcome } from '../store/cluster/lease.ts'
import { type Clock, sleep, systemClock } from '../time/clock.ts'

export interface LeaderInput extends Pick<LeaseLockInput, 'store' | 'namespace' | 'name' | 'identity' | 'now'> {
  /**
   * The work of the leader. `signal` aborts when the work must stop; the promise settles when it has stopped. After a lost Lease, another
   * replica may start 5 s later. If the promise rejects, the Lease is released and the election continues.
   */
  onStarted(signal: AbortSignal): Promise<void>
  /** Called when the work has stopped. */
  onStopped(): void
  /** Receives an error of the work or of the Lease; the election continues. */
  onError(error: unknown): void
  /** The clock of every wait. Default: the system clock. */
  clock?: Clock
}

export interface Leader {
  /** Whether this replica is the leader and may work now. */
  isLeader(): boolean
  /** Stops the work, waits for it, and releases the Lease. May be called at any time, also twice. */
  stop(): Promise<void>
}

/** The defaults of client-go. A leader that cannot renew stops 5 s before another replica may take over. */
const LEASE_SECONDS = 15
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2000
/** Each wait is longer by up to this factor, so that replicas do not send their requests at the same time. */
const JITTER = 0.2

/**
 * Takes part in an election until it is stopped. The store should have its own write limit, so that renewals do not wait behind the
 * writes of the work. A second store with the same connection and without kinds costs nothing.
 *
 *     candidate ── Lease free, or not renewed for 15 s ──▶ leader ── stop, or failed work ──▶ stops work, renews ──▶ releases Lease
 *        ▲                                                   │
 *        └────────────── stops work ◀── another replica has the Lease, or not renewed for 10 s
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
  /** Aborted when the work must stop; undefined while this replica does not work. */
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

  /** Resolves when the election has stopped; never rejects. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const validUntilMs = this.#clock.now() + RENEW_DEADLINE_MS
      const outcome = await this.#take(validUntilMs)
      // A late answer, for instance in a process that was suspended, is ignored: the Lease may have expired.
      if (outcome === 'held' && this.#clock.now() < validUntilMs) {
        const isOurs = this.#stop.signal.aborted || (await this.#lead(validUntilMs))
        if (isOurs) await this.#within(RENEW_DEADLINE_MS, () => this.#lock.release())
      }
      // A replica that waits for the expiry of a Lease checks at that moment, and not up to one retry later.
      const untilFreeMs = outcome === 'taken' ? this.#lock.msUntilFree() : Number.POSITIVE_INFINITY
      await sleep(this.#clock, Math.min(this.#retryMs(), untilFreeMs), this.#stop.signal)
    }
  }

  /** Works while this replica has the Lease: until `validUntilMs`, and longer after each renewal. Returns false if the Lease was lost. */
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
      // If the promise resolves early, the work still counts as running until the signal aborts.
      await aborted(signal)
    })
  }

  /** Renews the Lease until the work is over, also while the work stops. Returns false if the Lease was lost. */
  async #keep(validUntilMs: number, over: AbortSignal): Promise<boolean> {
    let untilMs = validUntilMs
    for (;;) {
      await sleep(this.#clock, Math.min(this.#retryMs(), untilMs - this.#clock.now()), over)
      if (over.aborted) return true
      const askedAtMs = this.#clock.now()
      if (askedAtMs >= untilMs) return false
      const outcome = await this.#take(untilMs)
      if (outcome === 'taken') return false
      // Counted from the request: other replicas cannot have observed the renewal earlier.
      if (outcome === 'held') untilMs = askedAtMs + RENEW_DEADLINE_MS
    }
  }

  #take(untilMs: number): Promise<LeaseOutcome | undefined> {
    return this.#within(untilMs - this.#clock.now(), (signal) => this.#lock.take(signal))
  }

  /** Returns undefined after an error or a timeout: a store that does not answer must not extend the leadership. */
  #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    return this.#report(async () => {
      const late = new AbortController()
      const cancel = this.#clock.after(ms, () =>
        late.abort(new Error(`no response for the Lease within ${Math.round(ms)} ms`)),
      )
      try {
        return await Promise.race([ask(late.signal), rejected(late.signal)])
      } finally {
        cancel()
      }
    })
  }

  /** Reports an error of the work or of the store, and continues. */
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
