/** Answers a question: what becomes of each workload under a supposition, compared with what becomes of it anyway. */
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import { keyOfObject, splitObjectKey } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { type Change, compareOutcomes, EFFECT_NAMES, type Effect } from '../../core/what-if/effect.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import type { ObjectStore, StoreChange } from '../../store/store.ts'
import { bindingNamed } from '../workload.ts'
import { type BindingIndex, indexBindings } from './binding-index.ts'
import { detectPolicy } from './detect-policy.ts'
import { baseOutcome, mayGetWorse, rememberOutcomes } from './present.ts'
import { type TransferTotal, type WorkloadTransfer, withTransfers } from './transfer.ts'
import {
  dataOfBinding,
  isQueuedIn,
  type LocatedData,
  type Outcome,
  openWorld,
  placedBindings,
  predictOutcome,
  type World,
  type WorldSettings,
} from './world.ts'

/** What happens to one workload of a fleet. */
export interface WorkloadChange extends Change {
  workload: WorkloadReference
  /** What happens to it after that. */
  next?: Change
  /** The data of its claims. */
  data: readonly LocatedData[]
  /** How many dependencies are attached to it, and go where it goes. */
  dependencies: number
  /** If it was asked for: the cost of the clusters to which it goes. */
  transfer?: WorkloadTransfer
}

export interface EffectTotal {
  workloads: number
  /** The size of their data, as far as it is known. Data that several workloads use counts once. */
  bytes: number
  dependencies: number
  /** If it was asked for, and a workload with data goes somewhere. */
  transfer?: TransferTotal
}

export interface Answer {
  /** The number of workloads that were asked about. */
  workloads: number
  totals: Readonly<Record<Effect, EffectTotal>>
  /** The worst first, then by name. */
  changes: readonly WorkloadChange[]
}

/** The present state of a fleet, ready for questions. */
export interface Fleet {
  present: World
  index: BindingIndex
  /**
   * Answers for a store that overlays the present one with some changes. Yields to the event loop between workloads, and throws when the signal
   * aborts. Set `decidesAll` to decide on every binding, without the index, and `transfers` to get the cost of each cluster to which a workload
   * goes.
   */
  ask(
    store: ObjectStore,
    changes: readonly StoreChange[],
    options?: { signal?: AbortSignal; decidesAll?: boolean; transfers?: boolean },
  ): Promise<Answer>
}

/** Reads all bindings of a store once, and yields to the event loop meanwhile. Throws when the signal aborts. */
export async function openFleet(store: ObjectStore, settings: WorldSettings, signal?: AbortSignal): Promise<Fleet> {
  const present = openWorld(store, settings)
  const outcomeBefore = rememberOutcomes(present)
  const index = await indexBindings(present, signal)
  const changeOf = (key: string, supposed: World): WorkloadChange | undefined => {
    const name = splitObjectKey(key)
    const [before, after] = [bindingNamed(name, store), bindingNamed(name, supposed.store)]
    const isQueued = after !== undefined && isQueuedIn(after, supposed)
    // A binding that is not at rest yet would change by any event: that is no effect of this one.
    const base = before && baseOutcome(before, outcomeBefore(before), isQueued)
    const outcome = after && predictOutcome(after, supposed, { isQueued, detected: detectPolicy(after, supposed) })
    const [first, next] = compareOutcomes(before, base, outcome)
    const binding = after ?? before
    if (!first || !binding) return undefined
    const { apiVersion, kind, namespace, name: workloadName } = binding.spec.resource
    return {
      ...delayed(first, outcome),
      ...defined({ next: next && delayed(next, outcome) }),
      workload: defined({ apiVersion, kind, namespace: namespace || undefined, name: workloadName }),
      data: dataOfBinding(binding, supposed),
      dependencies: index.dependenciesOf(key),
    }
  }
  const mayChange = (key: string, supposed: World, worse: ReadonlySet<string>): boolean => {
    const binding = bindingNamed(splitObjectKey(key), store)
    if (!binding) return false
    const outcomes = outcomeBefore(binding)
    return mayGetWorse(outcomes, baseOutcome(binding, outcomes, isQueuedIn(binding, supposed)), worse)
  }
  return {
    present,
    index,
    async ask(supposedStore, changes, { signal: ended, decidesAll = false, transfers = false } = {}) {
      const supposed = openWorld(supposedStore, settings, changes)
      const concerned = decidesAll
        ? { certain: everyKey([store, supposedStore]), possible: [], worse: NONE }
        : index.concernedBy(supposed)
      const found: WorkloadChange[] = []
      const add = (key: string) => {
        ended?.throwIfAborted()
        const change = changeOf(key, supposed)
        if (change) found.push(change)
      }
      await forEachInSlices(concerned.certain, add)
      await forEachInSlices(concerned.possible, (key) => {
        if (mayChange(key, supposed, concerned.worse)) add(key)
      })
      const answer = { workloads: index.size, totals: effectTotals(found), changes: found.sort(byEffect) }
      return transfers ? { ...answer, ...withTransfers(answer, supposed) } : answer
    },
  }
}

const NONE: ReadonlySet<string> = new Set()

function everyKey(stores: readonly ObjectStore[]): Set<string> {
  return new Set(stores.flatMap((store) => [...placedBindings(store)].map(keyOfObject)))
}

/** Adds the time that Karmada tolerates a taint. */
function delayed(change: Change, outcome: Outcome | undefined): Change {
  const seconds = outcome?.evictedAfterSeconds ?? 0
  return seconds === 0 ? change : { ...change, afterSeconds: change.afterSeconds + seconds }
}

function effectTotals(changes: readonly WorkloadChange[]): Record<Effect, EffectTotal> {
  const byEffectName = Object.groupBy(changes, ({ effect }) => effect)
  const total = (of: readonly WorkloadChange[] = []): EffectTotal => {
    const bytes = new Map(of.flatMap(({ data }) => data.map((each) => [each.source, each.bytes ?? 0] as const)))
    return {
      workloads: of.length,
      bytes: [...bytes.values()].reduce((sum, size) => sum + size, 0),
      dependencies: of.reduce((sum, { dependencies }) => sum + dependencies, 0),
    }
  }
  return Object.fromEntries(EFFECT_NAMES.map((effect) => [effect, total(byEffectName[effect])])) as Record<
    Effect,
    EffectTotal
  >
}

function byEffect(a: WorkloadChange, b: WorkloadChange): number {
  return EFFECT_NAMES.indexOf(a.effect) - EFFECT_NAMES.indexOf(b.effect) || (changeKey(a) < changeKey(b) ? -1 : 1)
}

function changeKey({ workload: { kind, namespace = '', name } }: WorkloadChange): string {
  return `${namespace}/${name}/${kind}`
}
