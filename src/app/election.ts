/** Elects the replica that writes: its loops run, and it keeps the registration. Without an election, this replica is the leader. */
import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Clock, systemClock } from '../base/time/clock.ts'
import { MissingPrerequisiteError, type ObjectStore } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Config } from './config/config.ts'
import { type Leadership, startLeader } from './leader.ts'

/** The present leadership of this replica. */
export interface CurrentLeadership {
  leadership: Leadership
  /** Since when, by the monotonic clock of the process, in ms. */
  sinceMs: number
}

export interface Denial {
  reason: string
  /** Whether the API server has never answered for the Lease. */
  isFirst: boolean
}

/** Whether this replica is the leader, for the parts that write only then. The election sets it. */
export interface LeadershipState {
  /** Returns undefined while another replica is the leader. */
  current(): CurrentLeadership | undefined
  begin(leadership: Leadership): void
  end(): void
  /** Why the API server denies the Lease, and the remedy; undefined if it does not. */
  denied(): Denial | undefined
  deny(reason: string): void
  /** Called when the API server answers for the Lease. */
  reached(): void
  /** Calls `changed` after each change. */
  subscribe(changed: () => void): void
}

export function openLeadershipState(clock: Pick<Clock, 'now'>): LeadershipState {
  const listeners: (() => void)[] = []
  let current: CurrentLeadership | undefined
  let denied: string | undefined
  let wasReached = false
  function set(next: CurrentLeadership | undefined): void {
    current = next
    for (const changed of listeners) changed()
  }
  return {
    current: () => current,
    begin: (leadership) => set({ leadership, sinceMs: clock.now() }),
    end: () => set(undefined),
    denied: () => (denied === undefined ? undefined : { reason: denied, isFirst: !wasReached }),
    deny: (reason) => {
      denied = reason
    },
    reached: () => {
      denied = undefined
      wasReached = true
    },
    subscribe: (changed) => void listeners.push(changed),
  }
}

export interface ElectionInput {
  config: Config
  /** The store of the Lease; its writes must not wait behind those of the loops. */
  leaseStore: ObjectStore
  /** Receives whether this replica is the leader. */
  state: LeadershipState
  /** Runs while this replica is the leader. It stops when `signal` aborts, and settles then. `leadership` is absent without an election. */
  work(signal: AbortSignal, leadership?: Leadership): Promise<void>
  /** Receives an error of the work or of the Lease; the election continues. */
  onError(error: unknown): void
  log: Logger
  /** Milliseconds since the epoch. */
  now: () => number
  /** The clock of every wait. Default: the system clock. */
  clock?: Clock
}

/** Returns a function that ends the work and releases the Lease. */
export function startElection({
  config: { leaderElection },
  leaseStore,
  state,
  work,
  onError,
  log,
  now,
  clock = systemClock,
}: ElectionInput): () => Promise<void> {
  async function lead(signal: AbortSignal, leadership?: Leadership): Promise<void> {
    state.begin(leadership ?? ALWAYS)
    try {
      await work(signal, leadership)
    } finally {
      state.end()
    }
  }
  if (!leaderElection.enabled) return runAlone(lead)
  const lease = `${leaderElection.namespace}/${leaderElection.name}`
  const leader = startLeader({
    store: leaseStore,
    namespace: leaderElection.namespace,
    name: leaderElection.name,
    // The host name is for users. The UUID makes it unique: two processes with the same identity would both be leaders.
    identity: `${hostname()}_${randomUUID()}`,
    now,
    clock,
    onStarted: lead,
    onStopped: () => log.info('no longer the leader'),
    onReached: state.reached,
    onWithdrawn: () => log.warn({ lease }, WITHDRAWN),
    onError(error) {
      if (isDenial(error)) state.deny(`Lease ${lease} cannot be written: ${error.message}; ${DENIED_REMEDY}`)
      onError(error)
    },
  })
  return () => leader.stop()
}

const WITHDRAWN =
  'lodestone uninstall stopped the loops and the registration; to use Lodestone again, remove annotation lodestone.dev/uninstalling of the Lease'

/** The remedy for a Lease that the API server denies. */
export const DENIED_REMEDY =
  "create the namespace and apply 'lodestone manifests election', or set leaderElection.enabled: false for a single process"

/** Whether the API server will deny the Lease until an administrator changes that: the role or the namespace is missing. */
function isDenial(error: unknown): error is Error {
  const isForbidden = error instanceof Error && 'status' in error && error.status === 403
  return isForbidden || error instanceof MissingPrerequisiteError
}

const ALWAYS: Leadership = { check: () => undefined }

function runAlone(work: (signal: AbortSignal) => Promise<void>): () => Promise<void> {
  const aborter = new AbortController()
  const ended = work(aborter.signal)
  return () => {
    aborter.abort()
    return ended
  }
}
