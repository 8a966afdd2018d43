/** Acquires, renews and releases a Lease, which one of several processes holds at a time. */
import { apiVersionOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import type { Clock } from '../../base/time/clock.ts'
import { ConflictError, NotFoundError, type ObjectStore } from '../store.ts'

export interface Lease extends K8sObject {
  spec?: {
    holderIdentity?: string
    leaseDurationSeconds?: number
    acquireTime?: string
    renewTime?: string
    leaseTransitions?: number
  }
}

export const leases: ResourceType<Lease> = {
  group: 'coordination.k8s.io',
  version: 'v1',
  kind: 'Lease',
  plural: 'leases',
  namespaced: true,
}

/**
 * On the Lease, by `lodestone uninstall`: the time (RFC 3339) at which it began. Until an hour later no replica acquires the Lease, and its
 * holder releases it. Without that end, a forgotten mark would stop a later installation.
 */
export const UNINSTALLING_ANNOTATION = 'lodestone.dev/uninstalling'
const UNINSTALLING_MS = 3_600_000

/** Whether an uninstallation has the Lease. `now` in ms since the epoch; a time that is not valid counts as now. */
export function isUninstalling({ metadata }: Lease, now: number): boolean {
  const since = metadata.annotations?.[UNINSTALLING_ANNOTATION]
  return since !== undefined && !(Date.parse(since) <= now - UNINSTALLING_MS)
}

export interface LeaseLockInput {
  store: Pick<ObjectStore, 'read' | 'create' | 'update'>
  namespace: string
  name: string
  /** Unique for every process, even after a restart with the same Pod name. */
  identity: string
  durationSeconds: number
  clock: Clock
  /** Milliseconds since the epoch, for the times in the Lease. Only the end of a mark that was there first depends on it. */
  now: () => number
}

/**
 * `held`: this process holds the Lease. `taken`: another process holds it and may be alive. `raced`: another process wrote at the same
 * time. `withdrawn`: an uninstallation has it, so no process may hold it.
 */
export type LeaseOutcome = 'held' | 'taken' | 'raced' | 'withdrawn'

/** More conflicts in a row do not come from replicas, which announce themselves every 10 s. */
const MAX_RELEASES = 5

/**
 * Measures time by the clock of this process, beginning when it observed a change of the Lease. The times in the Lease come from other
 * clocks, which may be wrong. client-go does the same. Every write has the resource version that was read.
 */
export class LeaseLock {
  readonly #input: LeaseLockInput
  /** The Lease as this process last wrote it. When another process has written since, the next write fails and the Lease is read again. */
  #own: Lease | undefined
  /** The Lease as last read, and the time until which its holder counts as alive. */
  #seen: { spec: string; aliveUntilMs: number } | undefined
  /** The mark of an uninstallation as last read, and since when, if this process saw it appear; undefined before the first read. */
  #mark: { value: string | undefined; sinceMs?: number } | undefined

  constructor(input: LeaseLockInput) {
    this.#input = input
  }

  /** Acquires or renews the Lease. Writes nothing after `signal` aborts. Throws when the store fails. */
  async take(signal: AbortSignal): Promise<LeaseOutcome> {
    try {
      const own = this.#own
      // A renewal needs one request, unless another process wrote the Lease.
      if (own !== undefined && (await this.#renewed(own, signal))) return 'held'
      const { store, namespace, name } = this.#input
      const lease = await store.read(leases, namespace, name)
      signal.throwIfAborted()
      if (this.#isWithdrawn(lease)) return 'withdrawn'
      if (lease !== undefined) this.#observe(lease)
      if (lease !== undefined && !this.#isFree(lease)) return 'taken'
      this.#own = await (lease === undefined
        ? store.create(leases, this.#new())
        : store.update(leases, this.#mine(lease)))
      return 'held'
    } catch (error) {
      if (error instanceof ConflictError) return 'raced'
      throw error
    }
  }

  /**
   * Releases the Lease, so that another process can acquire it immediately. Does nothing when this process does not hold it. Reads it again after a
   * conflict: replicas that only announce themselves write it too.
   */
  async release(): Promise<void> {
    const { store, namespace, name, identity } = this.#input
    this.#own = undefined
    for (let attempt = 1; ; attempt++) {
      const lease = await store.read(leases, namespace, name)
      if (lease === undefined || leaseHolder(lease) !== identity) return
      try {
        await store.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: '', renewTime: this.#time() } })
        return
      } catch (error) {
        if (error instanceof NotFoundError) return
        if (!(error instanceof ConflictError) || attempt === MAX_RELEASES) throw error
      }
    }
  }

  /** Milliseconds until the observed holder no longer counts as alive. */
  msUntilFree(): number {
    return this.#seen === undefined ? 0 : Math.max(0, this.#seen.aliveUntilMs - this.#input.clock.now())
  }

  /** Renews the Lease without reading it. Returns false when another client wrote it, so that it must be read again. */
  async #renewed(own: Lease, signal: AbortSignal): Promise<boolean> {
    try {
      this.#own = await this.#input.store.update(leases, this.#mine(own))
      return true
    } catch (error) {
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error
      this.#own = undefined
      signal.throwIfAborted()
      return false
    }
  }

  /**
   * Whether an uninstallation has the Lease. A mark that appears counts from that moment by the clock of this process, since the clock of
   * the command may be hours behind. One that was there at the first read may be forgotten, and has only its time.
   */
  #isWithdrawn(lease: Lease | undefined): boolean {
    const { clock, now } = this.#input
    const value = lease?.metadata.annotations?.[UNINSTALLING_ANNOTATION]
    if (this.#mark === undefined) this.#mark = { value }
    if (this.#mark.value !== value) this.#mark = { value, sinceMs: clock.now() }
    const { sinceMs } = this.#mark
    if (lease === undefined || value === undefined) return false
    return sinceMs === undefined ? isUninstalling(lease, now()) : clock.now() - sinceMs < UNINSTALLING_MS
  }

  /** Records until when the holder counts as alive: for its lease duration after its last write was observed. */
  #observe(lease: Lease): void {
    const spec = JSON.stringify(lease.spec ?? {})
    if (this.#seen?.spec === spec) return
    const seconds = lease.spec?.leaseDurationSeconds
    // Replicas of different versions may have different durations. The duration of the holder counts.
    const durationMs = (seconds !== undefined && seconds > 0 ? seconds : this.#input.durationSeconds) * 1000
    this.#seen = { spec, aliveUntilMs: this.#input.clock.now() + durationMs }
  }

  #isFree(lease: Lease): boolean {
    const holder = leaseHolder(lease)
    return holder === '' || holder === this.#input.identity || this.msUntilFree() === 0
  }

  #new(): Lease {
    const { namespace, name } = this.#input
    return this.#mine({ apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { namespace, name } })
  }

  #mine(lease: Lease): Lease {
    const { identity, durationSeconds } = this.#input
    const time = this.#time()
    const isChange = leaseHolder(lease) !== identity
    const { acquireTime = time, leaseTransitions = -1 } = lease.spec ?? {}
    return {
      ...lease,
      spec: {
        ...lease.spec,
        holderIdentity: identity,
        leaseDurationSeconds: durationSeconds,
        acquireTime: isChange ? time : acquireTime,
        renewTime: time,
        leaseTransitions: isChange ? leaseTransitions + 1 : Math.max(leaseTransitions, 0),
      },
    }
  }

  /** Formats a MicroTime, which Kubernetes accepts only with six digits after the second. */
  #time(): string {
    return new Date(this.#input.now()).toISOString().replace('Z', '000Z')
  }
}

/** Returns the identity of the holder; empty for a free Lease. */
export function leaseHolder(lease: Lease): string {
  return lease.spec?.holderIdentity ?? ''
}
