/** Runs the loops: changes of objects add keys to their queues, and a periodic drift pass adds every key. */
import { servedBy } from '../api/definition.ts'
import { isBinding, type ResourceBinding } from '../api/karmada.ts'
import type { ResourceType } from '../api/meta.ts'
import { type Pod, pods } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { type EventAction, eventAbout } from '../core/plan.ts'
import { bindingEvents } from '../core/resource-binding/plan.ts'
import { endedMover, newFailures } from '../core/volume-manager/mover/measured-mover.ts'
import { forEachInSlices } from '../store/for-each-in-slices.ts'
import { ConflictError, NotFoundError, type StoreChange, type UnavailableKind } from '../store/store.ts'
import type { LoopObserver, ReconcileContext, ReconcileLoop } from './define.ts'
import { MoveLimit } from './move-limit.ts'
import { openQueue, type Queue } from './queue.ts'

export interface ControllerInput extends Omit<ReconcileContext, 'signal' | 'enqueue' | 'moves' | 'observer'> {
  loops: readonly ReconcileLoop[]
  /** The maximum number of scheduled workloads that are moved per minute. */
  maxMovesPerMinute: number
  /** The interval of the drift pass, in ms. The pass finds bindings that were written while Lodestone was not running. */
  driftIntervalMs: number
  /** Resolves to true when the loops with `awaitsWebhooks` may begin; absent if they need not wait. */
  webhooksSeen?: Promise<boolean> | undefined
  observer: ControllerObserver
}

export interface ControllerObserver extends LoopObserver {
  /** Reports a key that became due. */
  added?(loop: string): void
  done(loop: string, timing: { waitedMs: number; ranMs: number; failed: boolean }): void
  failed(loop: string, key: string, error: unknown, retryInMs: number): void
}

export interface Controller {
  /** Returns the state of each queue, see `Queue`. */
  queueStates(): ({ loop: string } & ReturnType<Queue['state']>)[]
  /** Adds every key to its queue, in the background. */
  enqueueAll(): void
  stop(): Promise<void>
}

/**
 * Starts the loops on a synced store. Only the leader starts them: a second controller would do no harm, but would double all queries and
 * Events.
 */
export function startController(input: ControllerInput): Controller {
  const { loops, store, systems, events, observer } = input
  const aborter = new AbortController()
  const queues = openQueues(input, { ...input, signal: aborter.signal, moves: openMoves(input) })
  let isOpen = input.webhooksSeen === undefined
  const hasBegun = ({ awaitsWebhooks }: ReconcileLoop) => isOpen || !awaitsWebhooks
  /** A hundred thousand keys in one slice would delay an admission request by a tenth of a second. An error stops neither other loops nor the process. */
  async function addInSlices(loop: ReconcileLoop, read: () => Iterable<string | undefined>, settleMs?: number) {
    // The first pass adds every key later.
    if (!hasBegun(loop)) return
    try {
      await forEachInSlices(read(), (key) => void (key !== undefined && queues.get(loop)?.add(key, settleMs)))
    } catch (error) {
      observer.failed(loop.name, 'all keys', error, input.driftIntervalMs)
    }
  }
  /** Each pass begins after the one before it. */
  let passes = Promise.resolve()
  function afterPasses(pass: () => Promise<void>): void {
    passes = passes.then(pass)
  }
  function addEverything(): void {
    afterPasses(async () => {
      for (const loop of loops) await addInSlices(loop, () => loop.allKeys(store))
    })
  }
  /** Adds only the keys that depend on these data systems. Health changes may be frequent and must not cause a run for every binding. */
  function addOfSystems(names: ReadonlySet<string>): void {
    afterPasses(async () => {
      for (const loop of loops) await addInSlices(loop, () => loop.keysForSystems?.(names, store) ?? [])
    })
  }
  const unsubscribe = [
    store.subscribe((change) => {
      for (const loop of loops) {
        loop.observe?.(change, store)
        void addInSlices(loop, () => loop.keysForChange(change, store), loop.settleMs)
      }
      recordDecision(change, events)
      reportMovers(change, observer)
    }),
    store.subscribeAvailability((type, unavailable) => {
      events.record(availabilityEvent(type, unavailable))
      // A decision on an object that was unknown may change, and objects of a deleted CRD may wait for a finalizer.
      addEverything()
    }),
    systems.subscribe((names) => addOfSystems(new Set(names))),
  ]
  for (const unavailable of store.unavailable()) events.record(availabilityEvent(unavailable.type, unavailable))
  const timer = setInterval(addEverything, input.driftIntervalMs)
  addEverything()
  void input.webhooksSeen?.then((seen) => {
    if (!seen) return
    isOpen = true
    addEverything()
  })
  return {
    enqueueAll: addEverything,
    queueStates: () => [...queues].map(([{ name }, queue]) => ({ loop: name, ...queue.state() })),
    async stop() {
      clearInterval(timer)
      for (const end of unsubscribe) end()
      aborter.abort()
      // Stops without waiting for the pass: a replica that is no longer the leader starts no more runs.
      await Promise.all([...queues.values()].map((queue) => queue.stop()))
      await passes
    },
  }
}

/** Opens the queue of each loop. */
function openQueues(
  { loops, store, observer }: ControllerInput,
  context: Omit<ReconcileContext, 'enqueue'>,
): ReadonlyMap<ReconcileLoop, Queue> {
  const queues = new Map<ReconcileLoop, Queue>()
  /** Whether a more urgent loop has due keys. */
  function isDeferred({ defersTo }: ReconcileLoop): boolean {
    const urgent = loops.find(({ name }) => name === defersTo)
    return urgent !== undefined && (queues.get(urgent)?.depth() ?? 0) > 0
  }
  for (const loop of loops) {
    const { name, turnOf } = loop
    const queue = openQueue({
      concurrency: () => (isDeferred(loop) ? 1 : loop.concurrency),
      ...(turnOf && { turnOf: (key) => turnOf(key, store) }),
      run: (key) => loop.reconcile(key, { ...context, enqueue: (other) => queue.add(other) }),
      onError: (key, error, retryInMs) => void (isOvertaken(error) || observer.failed(name, key, error, retryInMs)),
      onAdd: () => observer.added?.(name),
      onDone: (_key, timing) => observer.done(name, timing),
    })
    queues.set(loop, queue)
  }
  return queues
}

/** Records the Events for our annotations in a binding. Admission writes the annotations, but has no side effects. */
function recordDecision({ type, before, after }: StoreChange, { record }: ControllerInput['events']): void {
  if (!after || !isBinding(type.kind)) return
  bindingEvents(before as ResourceBinding | undefined, after as ResourceBinding).forEach(record)
}

/** Reports the failures in a new status of a VolumeManager, and movers that ended: each once, when its Pod is deleted. */
function reportMovers({ type, before, after }: StoreChange, observer: LoopObserver): void {
  if (type.kind === volumeManagers.kind && after) {
    for (const failure of newFailures(before as VolumeManager | undefined, after as VolumeManager))
      observer.moverFailed?.(failure)
  }
  const ended = type.kind === pods.kind && before && !after ? endedMover(before as Pod) : undefined
  if (ended) observer.moverEnded?.(ended)
}

/** Returns the Event about a kind that became unavailable, or available again. */
function availabilityEvent(type: ResourceType, unavailable: UnavailableKind | undefined): EventAction {
  const about = servedBy(type)
  return unavailable
    ? eventAbout(about, 'Warning', 'KindUnavailable', unavailable.message)
    : eventAbout(about, 'Normal', 'KindAvailable', `${type.kind} objects are available again`)
}

/**
 * Whether another client changed or deleted the object first. The cache will receive that change, so the retry does not count as a failure.
 */
function isOvertaken(error: unknown): boolean {
  return error instanceof ConflictError || error instanceof NotFoundError
}

/** Returns the limit of moves: up to `maxMovesPerMinute` at once, then at that rate. */
function openMoves({ maxMovesPerMinute, now }: Pick<ControllerInput, 'maxMovesPerMinute' | 'now'>): MoveLimit {
  return new MoveLimit({ perSecond: maxMovesPerMinute / 60, burst: maxMovesPerMinute }, now)
}
