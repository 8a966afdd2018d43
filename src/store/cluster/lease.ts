/** A Lease that one of several processes holds at a time: takes it, renews it and gives it back for one of them. */
import { apiVersionOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import type { Clock } from '../../time/clock.ts'
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

export interface LeaseLockInput {
  store: Pick<ObjectStore, 'read' | 'create' | 'update'>
  namespace: string
  name: string
  /** Unique for every process, also after a restart under the same name. */
  identity: string
  durationSeconds: number
  clock: Clock
  /** Milliseconds since the epoch, written for people to read; nothing is decided by it. */
  now: () => number
}

/** `held`: this process has it; `taken`: another one has it and may be alive; `raced`: another one wrote at the same time, so read again. */
export type LeaseOutcome = 'held' | 'taken' | 'raced'

/**
 * Time is measured by the clock of this process, from when it saw the Lease change. The times in a Lease come from other clocks, which
 * may be an hour off. client-go does the same. Every write is guarded by the version that was read.
 */
export class LeaseLock {
  readonly #input: LeaseLockInput
  /** As it was last written by us. When others wrote since, the next write fails, and it is read again. */
  #own: Lease | undefined
  /** The Lease as it was last read, and until when its holder counts as alive. */
  #seen: { spec: string; aliveUntilMs: number } | undefined

  constructor(input: LeaseLockInput) {
    this.#input = input
  }

  /** Takes or renews. Once `signal` is aborted nothing more is written. Throws when the store cannot say. */
  async take(signal: AbortSignal): Promise<LeaseOutcome> {
    try {
      const own = this.#own
      // One request instead of two, unless another process writes the Lease.
      if (own !== undefined && (await this.#renewed(own, signal))) return 'held'
      const { store, namespace, name } = this.#input
      const lease = await store.read(leases, namespace, name)
      signal.throwIfAborted()
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

  /** Gives it back, so that another can take it at once. Does nothing when this replica no longer has it. */
  async release(): Promise<void> {
    const { store, namespace, name, identity } = this.#input
    this.#own = undefined
    const lease = await store.read(leases, namespace, name)
    if (lease === undefined || holderOf(lease) !== identity) return
    try {
      await store.update(leases, { ...lease, spec: { ...lease.spec, holderIdentity: '', renewTime: this.#time() } })
    } catch (error) {
      // Another process took it first: there is nothing to release.
      if (!(error instanceof ConflictError || error instanceof NotFoundError)) throw error
    }
  }

  /** How long the holder that was seen last may still be there, in ms. */
  msUntilFree(): number {
    return this.#seen === undefined ? 0 : Math.max(0, this.#seen.aliveUntilMs - this.#input.clock.now())
  }

  /** False when another client wrote the lease: then only a new read tells its state. */
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

  /** Remembers until when the holder counts as alive: its own duration from when its last write was seen. */
  #observe(lease: Lease): void {
    const spec = JSON.stringify(lease.spec ?? {})
    if (this.#seen?.spec === spec) return
    const seconds = lease.spec?.leaseDurationSeconds
    // Replicas of two versions may have two durations: the holder's counts.
    const durationMs = (seconds !== undefined && seconds > 0 ? seconds : this.#input.durationSeconds) * 1000
    this.#seen = { spec, aliveUntilMs: this.#input.clock.now() + durationMs }
  }

  #isFree(lease: Lease): boolean {
    const holder = holderOf(lease)
    return holder === '' || holder === this.#input.identity || this.msUntilFree() === 0
  }

  #new(): Lease {
    const { namespace, name } = this.#input
    return this.#mine({ apiVersion: apiVersionOf(leases), kind: leases.kind, metadata: { namespace, name } })
  }

  #mine(lease: Lease): Lease {
    const { identity, durationSeconds } = this.#input
    const time = this.#time()
    const isChange = holderOf(lease) !== identity
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

  /** A MicroTime: Kubernetes accepts it with six digits of a second only. */
  #time(): string {
    return new Date(this.#input.now()).toISOString().replace('Z', '000Z')
  }
}

function holderOf(lease: Lease): string {
  return lease.spec?.holderIdentity ?? ''
}
