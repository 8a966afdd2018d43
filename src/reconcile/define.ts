/** The interface of a reconcile loop: the keys that a change concerns, and the work for one key. */
import type { ClusterScopedClaims } from '../core/data-source-claim/permission.ts'
import type { Eviction } from '../core/volume-manager/replica/eviction.ts'
import type { Systems } from '../locality/plugins/plugin.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import type { Writers } from './apply.ts'

export interface ReconcileContext extends Writers {
  systems: Systems
  /** Whether claims apply to cluster-scoped workloads; forbidden when it is not given. */
  clusterScopedClaims?: ClusterScopedClaims
  /** Milliseconds since the epoch. */
  now: () => number
  signal: AbortSignal
  /** Adds a key to the queue of this loop, for example when something that runs in the background has ended. */
  enqueue(key: string): void
  /** Asks whether one more scheduled workload may be moved now; gives the ms to wait when not. */
  moveAllowance: () => number
  observer: LoopObserver
}

/** The observations of loops for the metrics. */
export interface LoopObserver {
  /** A query to a data system has ended. `result` is its answer, or the code of its error. */
  asked(system: string, seconds: number, result: string): void
  /** A scheduled workload is taken away from where it runs. */
  moved(): void
  /** A replica of a volume is deleted because its node is short of disk. */
  evicted?(eviction: Eviction): void
}

export interface ReconcileLoop {
  /** The name of the loop in metrics and logs. */
  name: string
  concurrency: number
  /** The keys to reconcile after a change. */
  keysOf(change: StoreChange, store: ObjectStore): Iterable<string>
  /** The keys to look at after the configuration or the health of these data systems changed. */
  keysOfSystems?(systems: ReadonlySet<string>, store: ObjectStore): Iterable<string | undefined>
  /** Every key there is, for the first pass and the drift pass; undefined for an object that is none of our business. */
  allKeys(store: ObjectStore): Iterable<string | undefined>
  /** Gathers, plans and applies. Returns the ms after which to reconcile again, if so. */
  reconcile(key: string, context: ReconcileContext): Promise<number | undefined>
}
