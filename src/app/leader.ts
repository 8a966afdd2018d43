/** Leader election: the replica that holds the Lease works. The other replicas wait until it releases the Lease or does not renew it. */
import { aborted, type Clock, sleep, systemClock } from '../base/time/clock.ts'
import { LeaseLock, type LeaseLockInput, type LeaseOutcome } from '../store/cluster/lease.ts'

export interface LeaderInput extends Pick<LeaseLockInput, 'store' | 'namespace' | 'name' | 'identity' | 'now'> {
  /**
   * The work of the leader. `signal` aborts when the work must stop; the promise settles when it has stopped. After a lost Lease, another
   * replica may start 5 s later. A process that was suspended may continue long after that, before its timers abort the signal. So the work
   * asks `leadership` before each write. If the promise rejects, the Lease is released and the election continues.
   */
  onStarted(signal: AbortSignal, leadership: Leadership): Promise<void>
  /** Called when the work has stopped. */
  onStopped(): void
  /** Called after each answer of the store for the Lease: this replica may read and write it. */
  onReached?(): void
  /** Called when an uninstallation withdraws the Lease, once until this replica is the leader again. */
  onWithdrawn?(): void
  /** Receives an error of the work or of the Lease; the election continues. */
  onError(error: unknown): void
  /** The clock of every wait. Default: the system clock. */
  clock?: Clock
}

export interface Leadership {
  /** Throws when this replica does not have the Lease any more, by a monotonic clock and counted from the request of its last renewal. */
  check(): void
}

export interface Leader {
  /** Stops the work, waits for it, and releases the Lease. May be called at any time, also twice. */
  stop(): Promise<void>
}

/** The defaults of client-go. A leader that cannot renew stops 5 s before another replica may take over. */
const LEASE_SECONDS = 15
const RENEW_DEADLINE_MS = 10_000
const RETRY_MS = 2000
/**
 * A request that takes longer fails. One that hangs, for instance on a connection that a load balancer dropped, leaves time for another one before
 * the deadline. controller-runtime does the same for a single hung request (pkg/leaderelection).
 */
const REQUEST_MS = 4000
/** Each wait is longer by up to this factor, so that replicas do not send their requests at the same time. */
const JITTER = 0.2

/**
 * Takes part in an election until it is stopped. The store should have its own write limit, so that renewals do not wait behind the
 * writes of the work. A second store with the same connection and without kinds costs nothing.
 *
 *     candidate ── Lease free, or not renewed for 15 s ──▶ leader ── stop, or failed work ──▶ stops work, renews ──▶ releases Lease
 *        ▲                                                   │
 *        └────────────── stops work ◀── another replica has the Lease, or not renewed for 10 s
 *
 * `lodestone uninstall` withdraws the Lease. Its leader stops as above and releases it, and no candidate becomes the leader.
 */
export function startLeader(input: LeaderInput): Leader {
  const election = new Election(input)
  const ended = election.run()
  return {
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
  /** The time until which this replica has the Lease, unless it renews it. */
  #untilMs = Number.NEGATIVE_INFINITY
  #isWithdrawn = false

  constructor(input: LeaderInput) {
    this.#input = input
    this.#clock = input.clock ?? systemClock
    const { namespace, name, identity, now } = input
    if (identity === '')
      throw new Error('leader election needs an identity: an empty holderIdentity means that the Lease is free')
    const clock = this.#clock
    const store = limitRequests(input.store, clock)
    this.#lock = new LeaseLock({ store, namespace, name, identity, now, clock, durationSeconds: LEASE_SECONDS })
  }

  /** Also true while the work of a stopped leader ends. */
  get #hasLease(): boolean {
    return this.#clock.now() < this.#untilMs
  }

  check(): void {
    if (!this.#hasLease) throw new Error('this replica is no longer the leader; the next leader writes the change')
  }

  stop(): void {
    this.#stop.abort()
    this.#work?.abort()
  }

  /** Resolves when the election has stopped; never rejects. */
  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) {
      const untilMs = this.#clock.now() + RENEW_DEADLINE_MS
      const outcome = await this.#take(untilMs)
      // A late answer, for instance in a process that was suspended, is ignored: the Lease may have expired.
      if (outcome === 'held' && this.#clock.now() < untilMs) {
        this.#untilMs = untilMs
        const isOurs = this.#stop.signal.aborted || (await this.#lead())
        if (isOurs) await this.#within(RENEW_DEADLINE_MS, () => this.#lock.release())
      }
      // A replica that waits for the expiry of a Lease checks at that moment, and not up to one retry later.
      const untilFreeMs = outcome === 'taken' ? this.#lock.msUntilFree() : Number.POSITIVE_INFINITY
      await sleep(this.#clock, Math.min(this.#retryMs(), untilFreeMs), this.#stop.signal)
    }
  }

  /** Works while this replica has the Lease. Returns false if the Lease was lost. */
  async #lead(): Promise<boolean> {
    const work = new AbortController()
    const over = new AbortController()
    this.#work = work
    const ended = this.#runWork(work.signal).then(() => over.abort())
    const isOurs = await this.#keep(over.signal)
    if (!isOurs) this.#untilMs = Number.NEGATIVE_INFINITY
    work.abort()
    await ended
    this.#work = undefined
    await this.#report(() => this.#input.onStopped())
    return isOurs
  }

  #runWork(signal: AbortSignal): Promise<void> {
    return this.#report(async () => {
      await this.#input.onStarted(signal, this)
      // If the promise resolves early, the work still counts as running until the signal aborts.
      await aborted(signal)
    })
  }

  /**
   * Renews the Lease until the work is over, also while the work stops, or until it is withdrawn. Returns false if the Lease was lost.
   */
  async #keep(over: AbortSignal): Promise<boolean> {
    for (;;) {
      await sleep(this.#clock, Math.min(this.#retryMs(), this.#untilMs - this.#clock.now()), over)
      if (over.aborted) return true
      const askedAtMs = this.#clock.now()
      const outcome = this.#hasLease ? await this.#take(this.#untilMs) : 'taken'
      // Counted from the request: other replicas cannot have observed the renewal earlier, and a late answer may be of an expired Lease.
      if (outcome === 'held') this.#untilMs = askedAtMs + RENEW_DEADLINE_MS
      // The Lease is still this replica's, and is released after the work.
      if (outcome === 'withdrawn') return true
      if (outcome === 'taken' || !this.#hasLease) return false
    }
  }

  async #take(untilMs: number): Promise<LeaseOutcome | undefined> {
    const outcome = await this.#within(untilMs - this.#clock.now(), (signal) => this.#lock.take(signal))
    if (outcome !== undefined) this.#input.onReached?.()
    if (outcome === 'withdrawn' && !this.#isWithdrawn) await this.#report(() => this.#input.onWithdrawn?.())
    if (outcome !== undefined && outcome !== 'raced') this.#isWithdrawn = outcome === 'withdrawn'
    return outcome
  }

  /** Returns undefined after an error or a timeout: a store that does not answer must not extend the leadership. */
  #within<T>(ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T | undefined> {
    return this.#report(() => answeredWithin(this.#clock, ms, ask))
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

/** Returns a store whose requests fail after `REQUEST_MS`. A write may still have its effect later: it has the resource version that was read. */
function limitRequests(store: LeaseLockInput['store'], clock: Clock): LeaseLockInput['store'] {
  return {
    read: (...words) => answeredWithin(clock, REQUEST_MS, () => store.read(...words)),
    create: (...words) => answeredWithin(clock, REQUEST_MS, () => store.create(...words)),
    update: (...words) => answeredWithin(clock, REQUEST_MS, () => store.update(...words)),
  }
}

/** Settles as `ask` does, or rejects after a time. Then it aborts the signal of `ask`. */
async function answeredWithin<T>(clock: Clock, ms: number, ask: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const late = new AbortController()
  const cancel = clock.after(ms, () => late.abort(new Error(`no response for the Lease within ${Math.round(ms)} ms`)))
  try {
    return await Promise.race([ask(late.signal), rejected(late.signal)])
  } finally {
    cancel()
  }
}

async function rejected(signal: AbortSignal): Promise<never> {
  await aborted(signal)
  throw signal.reason
}
