/** Runs the loops: changes become keys, keys become runs, and a drift pass adds every key from time to time. */
import { isBinding, type ResourceBinding } from '../api/karmada.ts'
import { bindingEvents } from '../core/resource-binding/plan.ts'
import { TokenBucket } from '../core/token-bucket.ts'
import { forEachInSlices } from '../store/for-each-in-slices.ts'
import { ConflictError, NotFoundError } from '../store/store.ts'
import type { LoopObserver, ReconcileContext, ReconcileLoop } from './define.ts'
import { openQueue, type Queue } from './queue.ts'

export interface ControllerInput extends Omit<ReconcileContext, 'signal' | 'enqueue' | 'moveAllowance' | 'observer'> {
  loops: readonly ReconcileLoop[]
  /** At most so many scheduled workloads are moved a minute. */
  maxMovesPerMinute: number
  /** The interval at which every key is reconciled again, in ms: this finds bindings that were written while Lodestone was down. */
  driftIntervalMs: number
  observer: ControllerObserver
}

export interface ControllerObserver extends LoopObserver {
  done(loop: string, timing: { waitedMs: number; ranMs: number; failed: boolean }): void
  failed(loop: string, key: string, error: unknown, retryInMs: number): void
}

export interface Controller {
  /** How many keys wait for a turn, by loop. */
  depths(): { loop: string; depth: number }[]
  /** Looks at every key once more, soon. */
  enqueueAll(): void
  stop(): Promise<void>
}

/** Starts on a synced store. Only the leader does: two controllers would not harm each other, but double every query and Event. */
export function startController(input: ControllerInput): Controller {
  const { loops, store, systems, events, clusterScopedClaims, now, observer } = input
  const aborter = new AbortController()
  const context = {
    store,
    systems,
    events,
    ...(clusterScopedClaims && { clusterScopedClaims }),
    now,
    signal: aborter.signal,
    moveAllowance: openAllowance(input),
    observer,
  }
  const queues = new Map<ReconcileLoop, Queue>(
    loops.map((loop): [ReconcileLoop, Queue] => [
      loop,
      openQueue({
        concurrency: loop.concurrency,
        run: (key) => loop.reconcile(key, { ...context, enqueue: (other) => queues.get(loop)?.add(other) }),
        onError: (key, error, retryInMs) =>
          void (isOvertaken(error) || observer.failed(loop.name, key, error, retryInMs)),
        onDone: (_key, timing) => observer.done(loop.name, timing),
      }),
    ]),
  )
  const add = (loop: ReconcileLoop, keys: Iterable<string>) => {
    for (const key of keys) queues.get(loop)?.add(key)
  }
  const unsubscribe = [
    store.subscribe((change) => {
      for (const loop of loops) add(loop, loop.keysOf(change, store))
      if (change.after && isBinding(change.type.kind)) {
        // Admission writes our annotations and has no side effects: the leader emits the Events.
        bindingEvents(change.before as ResourceBinding | undefined, change.after as ResourceBinding).forEach(
          events.record,
        )
      }
    }),
    systems.subscribe((names) => void afterPasses(() => addOfSystems(new Set(names)))),
  ]
  let passes = Promise.resolve()
  const afterPasses = (pass: () => Promise<void>) => {
    passes = passes.then(pass)
  }
  const everything = () => afterPasses(addEverything)
  async function addEverything(): Promise<void> {
    for (const loop of loops) await addInSlices(loop, loop.allKeys(store))
  }
  /** Only the keys that depend on these data systems: a system whose health changes often must not cause a look at every binding. */
  async function addOfSystems(names: ReadonlySet<string>): Promise<void> {
    for (const loop of loops) await addInSlices(loop, loop.keysOfSystems?.(names, store) ?? [])
  }
  /** A hundred thousand bindings at once would hold up an admission for a tenth of a second. */
  async function addInSlices(loop: ReconcileLoop, keys: Iterable<string | undefined>): Promise<void> {
    await forEachInSlices(keys, (key) => void (key !== undefined && queues.get(loop)?.add(key)))
  }
  const timer = setInterval(everything, input.driftIntervalMs)
  everything()
  return {
    enqueueAll: everything,
    depths: () => [...queues].map(([{ name }, queue]) => ({ loop: name, depth: queue.depth() })),
    async stop() {
      clearInterval(timer)
      for (const end of unsubscribe) end()
      aborter.abort()
      // At once, and not when a pass is over: a replica that is no longer the leader begins nothing more.
      await Promise.all([...queues.values()].map((queue) => queue.stop()))
      await passes
    },
  }
}

/** Another client changed or deleted the object first. Its change is on its way to the cache, so the retry is no failure. */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError || error instanceof NotFoundError
}

/** As many moves at once as are allowed a minute, then one after the other. */
function openAllowance({ maxMovesPerMinute, now }: Pick<ControllerInput, 'maxMovesPerMinute' | 'now'>): () => number {
  const bucket = new TokenBucket({ perSecond: maxMovesPerMinute / 60, burst: maxMovesPerMinute }, now())
  return () => bucket.take(now())
}
