// The loops of the replica that is the leader. Each run of a key is one step of the world.

import type { ReconcileContext, ReconcileLoop } from '../../src/reconcile/define.ts'
import { openLoops } from '../../src/reconcile/index.ts'
import { MoveLimit } from '../../src/reconcile/move-limit.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../../src/store/store.ts'
import { loopSettings } from '../loop-settings.ts'
import type { WorldConfig } from './actions.ts'
import { DeniedError } from './api-server.ts'
import type { Catalogs } from './catalogs.ts'
import type { VirtualClock } from './clock.ts'
import type { Replica } from './replica.ts'

// The loops of a hub that decide on placement; dependencies and volumes are not part of this world.
const LOOPS = ['data-source-claim', 'data-source', 'resource-binding', 'propagation-policy', 'multikueue-dispatcher']
// The default of multiKueue.roundSeconds.
const ROUND_MS = 300_000
// The default of loops.driftIntervalSeconds.
const DRIFT_MS = 600_000
const RETRY_MS = { conflict: 5, failure: 1000 }

export interface Due {
  loop: string
  key: string
}

export class Leader {
  readonly replica: Replica
  readonly #clock: VirtualClock
  readonly #loops: readonly ReconcileLoop[]
  readonly #due = new Map<string, Due & { atMs: number }>()
  readonly #aborter = new AbortController()
  readonly #unsubscribe: readonly (() => void)[]
  #driftAtMs = 0
  readonly #context: Omit<ReconcileContext, 'enqueue'>

  constructor(replica: Replica, clock: VirtualClock, catalogs: Catalogs, { maxMovesPerMinute, queues }: WorldConfig) {
    this.replica = replica
    this.#clock = clock
    const nominationRoundMs = queues ? ROUND_MS : undefined
    const loops = openLoops({ propagate: 'dataBound', distribution: 'none', nominationRoundMs })
    this.#loops = loops.filter(({ name }) => LOOPS.includes(name))
    const rate = { perSecond: maxMovesPerMinute / 60, burst: maxMovesPerMinute }
    this.#context = {
      ...loopSettings,
      store: replica,
      systems: catalogs,
      karmadaRules: () => replica.karmadaRules,
      matrix: replica.matrix,
      events: { record: () => {} },
      now: () => clock.now(),
      signal: this.#aborter.signal,
      moves: new MoveLimit(rate, () => clock.now()),
      observer: { queryEnded: () => {}, moved: () => {} },
    }
    this.#unsubscribe = [
      replica.subscribe((change) => {
        for (const loop of this.#loops) {
          loop.observe?.(change, replica)
          for (const key of loop.keysForChange(change, replica)) if (key !== undefined) this.#add(loop.name, key, 0)
        }
      }),
      replica.subscribeAvailability(() => this.addAll()),
    ]
    this.addAll()
  }

  // Adds every key, as the first pass and the drift pass do.
  addAll(): void {
    this.#driftAtMs = this.#clock.now() + DRIFT_MS
    for (const loop of this.#loops) {
      for (const key of loop.allKeys(this.replica)) if (key !== undefined) this.#add(loop.name, key, 0)
    }
  }

  // The keys that are due now.
  due(): Due[] {
    const now = this.#clock.now()
    if (now >= this.#driftAtMs) this.addAll()
    return [...this.#due.values()].flatMap(({ atMs, ...due }) => (atMs <= now ? [due] : []))
  }

  nextDueMs(): number {
    return Math.min(this.#driftAtMs, ...[...this.#due.values()].map(({ atMs }) => atMs))
  }

  // Runs a key if it is due. Throws only errors that no API server explains.
  async run({ loop: name, key }: Due): Promise<void> {
    const loop = this.#loops.find((each) => each.name === name)
    const due = this.#due.get(idOf(name, key))
    if (!loop || !due || due.atMs > this.#clock.now()) return
    this.#due.delete(idOf(name, key))
    try {
      const nextMs = await loop.reconcile(key, { ...this.#context, enqueue: (other) => this.#add(name, other, 0) })
      if (nextMs !== undefined) this.#add(name, key, Math.max(1, nextMs))
    } catch (error) {
      if (error instanceof ConflictError || error instanceof NotFoundError) this.#add(name, key, RETRY_MS.conflict)
      else if (error instanceof DeniedError || error instanceof MissingPrerequisiteError) {
        this.#add(name, key, RETRY_MS.failure)
      } else throw error
    }
    // A query to the data system ends after the run that sent it.
    if (name === 'data-source') await new Promise((resolve) => setImmediate(resolve))
  }

  stop(): void {
    for (const end of this.#unsubscribe) end()
    this.#aborter.abort()
  }

  #add(loop: string, key: string, delayMs: number): void {
    const atMs = this.#clock.now() + delayMs
    const id = idOf(loop, key)
    const waiting = this.#due.get(id)
    if (waiting && waiting.atMs <= atMs) return
    this.#due.set(id, { loop, key, atMs })
  }
}

function idOf(loop: string, key: string): string {
  return `${loop} ${key}`
}
