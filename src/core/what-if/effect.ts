/** Compares what becomes of a workload in the present world and in a supposed one. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { jsonEqual } from '../../base/json.ts'
import { isDivided, targetClusters } from '../placement/binding-state.ts'
import type { PlacementState } from '../resource-binding/placement-decision.ts'
import type { Schedule } from './schedule.ts'
import type { Settled, Step } from './settle.ts'

/** Every effect, the worst first, with its meaning for users. */
export const EFFECTS = {
  stranded: 'no cluster is left for the workload',
  waits: 'the workload is put on hold, and runs nowhere',
  moves: 'the workload leaves a cluster, and runs in another one',
  loses: 'the workload loses a copy, and runs in its other clusters',
  removed: 'the binding of the workload is deleted',
  comesHome: 'the workload returns to its data',
  released: 'the hold of the workload ends, and it is scheduled',
  gains: 'the workload gets further copies',
  placed: 'the workload does not run yet, and is scheduled to these clusters',
  stays: 'the workload stays where it runs, and its decision changes',
} as const

export type Effect = keyof typeof EFFECTS

export const EFFECT_NAMES = Object.keys(EFFECTS) as readonly Effect[]

/** What happens to one workload. */
export interface Change {
  effect: Effect
  /** The clusters that it leaves, sorted. */
  from: readonly string[]
  /** The clusters to which it goes, sorted: all of them, or one or more. */
  to: readonly string[]
  takesAll: boolean
  /** After how many seconds: 0 at once. */
  afterSeconds: number
  /** Why, as a sentence. */
  reason: string
}

/** A step of the present world, as far as a comparison reads it. */
interface PresentStep {
  state: Step['decision']['state']
  schedule: Schedule
}

/** What becomes of a workload without the supposition. It is small, so that the outcomes of a whole fleet fit into memory. */
export interface PresentOutcome {
  first: PresentStep
  later?: PresentStep
}

/** Keeps of an outcome what a comparison reads. */
export function presentOutcome({ first, later }: Settled): PresentOutcome {
  const keep = ({ decision: { state }, schedule }: Step): PresentStep => ({ state, schedule })
  return later ? { first: keep(first), later: keep(later) } : { first: keep(first) }
}

/**
 * Returns what the supposition changes, at once and later; none if nothing changes.
 *
 * @param before the stored binding. It is undefined for a new workload.
 * @param base its outcome without the supposition. It is undefined for a new workload.
 * @param supposed its outcome under the supposition. It is undefined if the binding is deleted.
 */
export function compareOutcomes(
  before: ResourceBinding | undefined,
  base: PresentOutcome | undefined,
  supposed: Settled | undefined,
): Change[] {
  const runs = targetClusters(before?.spec)
  if (!supposed) return before ? [removal(before)] : []
  const first = compareSteps(runs, base?.first, supposed.first)
  // A step of the present world that comes anyway is no effect of the supposition.
  const later = supposed.later && compareSteps(runs, base?.later ?? base?.first, supposed.later)
  return [first, later?.effect === first?.effect ? undefined : later].filter((change) => change !== undefined)
}

function removal({ spec }: ResourceBinding): Change {
  const from = spec.preserveResourcesOnDeletion ? [] : targetClusters(spec).toSorted()
  const reason = spec.preserveResourcesOnDeletion
    ? `its copies stay in their clusters without Karmada, since ${PRESERVES}`
    : 'its copies are deleted with its binding'
  return { effect: 'removed', from, to: [], takesAll: false, afterSeconds: 0, reason }
}

/** The execution controller keeps the resource of each Work that it deletes (v1.18.1, execution_controller.go, handleWorkDelete). */
const PRESERVES = 'preserveResourcesOnDeletion is set'

function compareSteps(runs: readonly string[], base: PresentStep | undefined, step: Step): Change | undefined {
  const effect = classifyEffect(runs, base, step)
  if (effect === undefined) return undefined
  const { schedule, decision, afterSeconds } = step
  const { keeps, among, takesAll, problem } = schedule
  const from = runs.filter((name) => !keeps.includes(name)).toSorted()
  const goesOn = (effect === 'moves' || effect === 'placed') && among.length === 0
  return {
    effect,
    from,
    to: goesOn ? keeps : among,
    takesAll: goesOn || takesAll,
    afterSeconds,
    reason: [decision.message, problem, preserved(decision.binding, from)].filter(Boolean).join('; '),
  }
}

function preserved({ spec }: ResourceBinding, from: readonly string[]): string | undefined {
  if (from.length === 0 || !spec.preserveResourcesOnDeletion) return undefined
  return `its copies stay in the clusters that it leaves, since ${PRESERVES}`
}

function classifyEffect(runs: readonly string[], base: PresentStep | undefined, step: Step): Effect | undefined {
  const { schedule: now, decision } = step
  const was = base?.schedule
  if (now.problem !== undefined) return was?.problem === undefined ? 'stranded' : undefined
  if (now.waits) return was?.waits ? undefined : 'waits'
  const isReleased = decision.state === 'Released' && base?.state !== 'Released'
  if (was?.waits || isReleased) return 'released'
  if (runs.length > 0) return effectWhereItRuns(runs, base, step)
  return was !== undefined && isPartOf(possibleClusters(now), possibleClusters(was)) ? undefined : 'placed'
}

function effectWhereItRuns(runs: readonly string[], base: PresentStep | undefined, step: Step): Effect | undefined {
  const { schedule: now, decision } = step
  const was = base?.schedule
  const unchanged = base?.state === decision.state ? undefined : 'stays'
  if (was && goesTheSameWay(runs, was, now)) return unchanged
  const leaves = (schedule: { keeps: readonly string[] }) => runs.some((name) => !schedule.keeps.includes(name))
  if (leaves(now)) {
    if (isReturn(base, step)) return 'comesHome'
    const isLess = now.among.length === 0 ? !isDivided(decision.binding.spec) : isPartOf(now.among, runs.toSorted())
    return isLess ? 'loses' : 'moves'
  }
  return now.among.length > 0 ? 'gains' : unchanged
}

/** The clusters of a workload that does not run yet: a later step keeps those that an earlier one chose. */
function possibleClusters({ keeps, among }: Schedule): readonly string[] {
  if (keeps.length === 0) return among
  return among.length === 0 ? keeps : [...keeps, ...among].sort()
}

/** Whether the scheduler does the same, or the same with a smaller choice. A later step keeps what an earlier one chose. */
function goesTheSameWay(runs: readonly string[], was: Schedule, now: Schedule): boolean {
  const keeps = ({ keeps }: Schedule) => keeps.filter((name) => runs.includes(name))
  if (!jsonEqual(keeps(was), keeps(now))) return false
  const gains = ({ keeps, among }: Schedule) => [...keeps.filter((name) => !runs.includes(name)), ...among].sort()
  const gained = gains(now)
  return gained.length === 0 ? gains(was).length === 0 : isPartOf(gained, gains(was))
}

/** Whether all names of a sorted list are in another sorted list. */
function isPartOf(part: readonly string[], whole: readonly string[]): boolean {
  if (part === whole) return true
  let at = -1
  return part.every((name) => {
    at = whole.indexOf(name, at + 1)
    return at >= 0
  })
}

/** Whether a workload that runs elsewhere goes to its data. */
function isReturn(base: PresentStep | undefined, { decision }: Step): boolean {
  const away: readonly (PlacementState | string)[] = ['Relaxed', 'Kept']
  return base !== undefined && away.includes(base.state) && decision.state === 'Narrowed'
}
