/** The interface of a reconcile loop: the keys that a change concerns, and the reconcile of one key. */
import type { ClockJump } from '../base/time/clock-jumps.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import type { DecisionSettings } from '../core/resource-binding/decision-settings.ts'
import type { NotHonored } from '../core/resource-binding/hold-not-honored.ts'
import type { CountedFailure, EndedMover } from '../core/volume-manager/mover/measured-mover.ts'
import type { Eviction } from '../core/volume-manager/plan-eviction.ts'
import type { Systems } from '../locality/locality.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import type { Writers } from './apply.ts'
import type { MoveLimit } from './move-limit.ts'

export interface ReconcileContext extends Writers, DecisionSettings {
  systems: Systems
  /** The current rules of the connected Karmada; the strictest apply while they are unknown. */
  karmadaRules: () => KarmadaRules | undefined
  /** Milliseconds since the epoch. */
  now: () => number
  /** The jumps of the clock of `now`. */
  jumps: () => readonly ClockJump[]
  signal: AbortSignal
  /** Adds a key to the queue of this loop, for example after a background task has ended. */
  enqueue(key: string): void
  /** The limit of moves of scheduled workloads, which the namespaces share. */
  moves: Pick<MoveLimit, 'take' | 'withdraw'>
  observer: LoopObserver
}

/** The observations of loops for the metrics. */
export interface LoopObserver {
  /** Reports the end of a query to a data system. `result` is the kind of its answer or the code of its error. */
  queryEnded(system: string, seconds: number, result: string): void
  /** Reports the move of a scheduled workload to other clusters. */
  moved(): void
  /** Reports a move that waits because of the limit of moves per minute. */
  moveDelayed?(): void
  /** Reports a workload that was scheduled although it is on hold. */
  holdNotHonored?(binding: string, report: NotHonored): void
  /** Reports that the API server has the CRD of volcano-global for DataSources. */
  reducedCrd?(): void
  /** Reports the eviction of a replica because its node is short of disk. */
  evicted?(eviction: Eviction): void
  /** Reports a mover that failed, by the status of its VolumeManager. */
  moverFailed?(failure: CountedFailure): void
  /** Reports a mover that ended, by its Pod. */
  moverEnded?(mover: EndedMover): void
}

export interface ReconcileLoop {
  /** The name of the loop in metrics and logs. */
  name: string
  concurrency: number
  /** The name of a more urgent loop. While it has due keys, this loop runs one key at a time, so that it neither delays the other nor stops. */
  defersTo?: string
  /** How long a key waits after a change, in ms, so that changes in quick succession cause one run. Default: 0. */
  settleMs?: number
  /** Returns the namespace in whose turn a key runs; absent if the key has it. Namespaces take turns, and keys without one have a turn too. */
  turnOf?(key: string, store: ObjectStore): string
  /**
   * Set if a write of the loop makes Karmada write bindings. The loop begins when the API server is seen to call our webhooks: before that,
   * Karmada's detector would write the placement of the policy.
   */
  awaitsWebhooks?: true
  /** Updates the memory of the loop, once per change and before `keysForChange`. Absent if the memory does not depend on changes. */
  observe?(change: StoreChange, store: ObjectStore): void
  /**
   * The keys to reconcile after a change. The loop yields undefined for an object that needs no run. It reads the memory, and does not change it.
   * A change may concern a hundred thousand objects, so the controller takes the keys in slices.
   */
  keysForChange(change: StoreChange, store: ObjectStore): Iterable<string | undefined>
  /** The keys to reconcile after a change of the configuration or health of these data systems. */
  keysForSystems?(systems: ReadonlySet<string>, store: ObjectStore): Iterable<string | undefined>
  /** Every key, for the first pass and the drift pass; undefined for an object that the loop ignores. */
  allKeys(store: ObjectStore): Iterable<string | undefined>
  /** Gathers, plans and applies. Returns the ms until the next reconcile; undefined for none. */
  reconcile(key: string, context: ReconcileContext): Promise<number | undefined>
}
