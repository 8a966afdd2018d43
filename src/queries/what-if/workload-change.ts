/** Finds what suppositions change for workloads: each workload is decided in every supposed world that may concern it. */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import type { ResourceBinding } from '../../api/karmada.ts'
import { plainReference, splitObjectKey } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { isScaledToZero } from '../../core/placement/binding-state.ts'
import { type Change, compareOutcomes } from '../../core/what-if/effect.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import { bindingNamed } from '../workload.ts'
import type { BindingIndex, Concerned } from './binding-index.ts'
import { detect } from './detect-policy.ts'
import { baseOutcome, mayGetWorse, type PresentOutcomes } from './present.ts'
import type { WorkloadTransfer } from './transfer.ts'
import {
  type BindingOutcome,
  dataOfBinding,
  isOfWorkload,
  isQueuedIn,
  type LocatedData,
  predictOutcome,
  type World,
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

/** The present world, with what a comparison reads. */
export interface PresentFleet {
  world: World
  outcomesOf: PresentOutcomes
  index: BindingIndex
}

/** A supposed world. */
export interface SupposedWorld {
  world: World
  /** Returns the bindings that it may concern. */
  concerned(): Concerned
  /** Receives each change. */
  add(change: WorkloadChange): void
}

/** Limits of a run over many bindings. */
export interface Run {
  /** Throws when it aborts. */
  signal?: AbortSignal | undefined
  /** Receives the number of bindings that are decided. */
  progress?: ((done: number, all: number) => void) | undefined
}

/**
 * Finds what changes in each supposed world. All worlds that may concern a binding come one after the other, so each binding is read once. Yields
 * to the event loop between worlds, and between decisions.
 */
export async function findChanges(present: PresentFleet, supposed: readonly SupposedWorld[], run: Run): Promise<void> {
  const concerns = await concernsByBinding(supposed, run)
  await forEachInSlices(pairsOf(concerns, present, run), ({ key, binding, supposed: { world, add }, isCertain }) => {
    run.signal?.throwIfAborted()
    if (!isCertain && !(binding && mayChange(binding, world, present))) return
    const change = changeOf(key, binding, world, present)
    if (change) add(change)
  })
}

/** A binding, and a supposed world that may concern it. */
interface Pair {
  key: string
  /** Undefined if the binding exists in the supposed world only. */
  binding: ResourceBinding | undefined
  supposed: SupposedWorld
  isCertain: boolean
}

function* pairsOf(
  concerns: ReadonlyMap<string, Concerns>,
  present: PresentFleet,
  { progress }: Run,
): Generator<Pair, void, undefined> {
  let done = 0
  for (const [key, { certain, possible }] of concerns) {
    const binding = bindingNamed(splitObjectKey(key), present.world.store)
    for (const supposed of certain) yield { key, binding, supposed, isCertain: true }
    for (const supposed of possible) yield { key, binding, supposed, isCertain: false }
    done += 1
    progress?.(done, concerns.size)
  }
}

/** The supposed worlds that concern one binding. */
type Concerns = Record<keyof Concerned, SupposedWorld[]>

async function concernsByBinding(
  supposed: readonly SupposedWorld[],
  { signal }: Run,
): Promise<ReadonlyMap<string, Concerns>> {
  const concerns = new Map<string, Concerns>()
  for (const each of supposed) {
    const concerned = each.concerned()
    for (const certainty of ['certain', 'possible'] as const) {
      for (const key of concerned[certainty]) {
        const known = concerns.get(key)
        if (known) known[certainty].push(each)
        else concerns.set(key, { certain: [], possible: [], [certainty]: [each] })
      }
    }
    await nextTurn()
    signal?.throwIfAborted()
  }
  return concerns
}

/** Whether a world in which clusters got worse may change what becomes of a binding that runs in none of them. */
function mayChange(binding: ResourceBinding, supposed: World, { outcomesOf }: PresentFleet): boolean {
  const outcomes = outcomesOf(binding)
  const base = baseOutcome(binding, outcomes, isQueuedIn(binding, supposed))
  return supposed.worse === undefined || mayGetWorse(outcomes, base, supposed.worse)
}

function changeOf(
  key: string,
  present: ResourceBinding | undefined,
  supposed: World,
  { outcomesOf, index }: PresentFleet,
): WorkloadChange | undefined {
  const stored = bindingNamed(splitObjectKey(key), supposed.store)
  const detected = stored && detect(stored, supposed)
  const before = present && isOfWorkload(present) ? present : undefined
  // A policy may select what was a dependency only.
  const after = detected && isOfWorkload(detected) ? stored : undefined
  const isQueued = after !== undefined && isQueuedIn(after, supposed)
  // A binding that is not at rest yet would change by any event: that is no effect of this one.
  // One that gets replicas again is compared as a new one.
  const isNew = before && detected && isScaledToZero(before.spec) && !isScaledToZero(detected.spec)
  const base = before && !isNew ? baseOutcome(before, outcomesOf(before), isQueued) : undefined
  const outcome = after && predictOutcome(after, supposed, { isQueued, detected })
  const [first, next] = compareOutcomes(before, base, outcome)
  const binding = after ?? before
  if (!first || !binding) return undefined
  return {
    ...delayed(first, outcome),
    ...defined({ next: next && delayed(next, outcome) }),
    workload: plainReference(binding.spec.resource),
    data: dataOfBinding(binding, supposed),
    dependencies: index.dependenciesOf(key),
  }
}

/** Adds the time that Karmada tolerates a taint. */
function delayed(change: Change, outcome: BindingOutcome | undefined): Change {
  const seconds = outcome?.evictedAfterSeconds ?? 0
  return seconds === 0 ? change : { ...change, afterSeconds: change.afterSeconds + seconds }
}
