/** What becomes of the bindings of a fleet if nothing changes. It is remembered, since several questions concern the same bindings. */
import type { Cluster, ResourceBinding } from '../../api/karmada.ts'
import { keyOfObject } from '../../api/meta.ts'
import { schedulingRefusal } from '../../core/placement/acceptance.ts'
import type { ClusterLookup } from '../../core/placement/affinity.ts'
import { hasNoFit } from '../../core/placement/binding-state.ts'
import { type PresentOutcome, presentOutcome } from '../../core/what-if/effect.ts'
import { evict, findEviction } from '../../core/what-if/evict.ts'
import type { Schedule } from '../../core/what-if/schedule.ts'
import { settleBoth } from '../../core/what-if/settle.ts'
import { gatherSettleInput, type World } from './world.ts'

export interface PresentPrediction {
  /** The outcome if the scheduler leaves the binding alone until something else writes it. */
  idle: PresentOutcome
  /** The outcome if the scheduler looks at the binding again. */
  queued: PresentOutcome
  /** The clusters that the decision looked up, and that accept the workload; undefined if they are many. */
  accepting: readonly string[] | undefined
}

/** Returns what becomes of a binding of the present world. */
export type PresentOutcomes = (binding: ResourceBinding) => PresentPrediction

/** Bindings whose outcome is remembered for further questions, at about 2 KiB each. */
const MAX_REMEMBERED = 1_000_000
/** Clusters that are remembered for each binding. A decision that ranks clusters by cost reads all of them. */
const MAX_ACCEPTING = 32

/** @param most how many outcomes are remembered: 1 if all questions about a binding come one after the other */
export function rememberOutcomes(world: World, most = MAX_REMEMBERED): PresentOutcomes {
  const known = new Map<string, PresentPrediction>()
  return (binding) => {
    const key = keyOfObject(binding)
    const remembered = known.get(key)
    if (remembered) return remembered
    if (known.size >= most) known.clear()
    const present = predictPresent(binding, world)
    known.set(key, present)
    return present
  }
}

function predictPresent(binding: ResourceBinding, world: World): PresentPrediction {
  const eviction = findEviction(binding, world.fleet)
  const written = eviction ? evict(binding, eviction.from) : binding
  const read = new Set<string>()
  const input = gatherSettleInput(written, binding, world)
  const settled = settleBoth({ ...input, clusters: input.clusters && recordNames(input.clusters, read) })
  const idle = presentOutcome(settled.idle)
  const queued = settled.queued === settled.idle ? idle : presentOutcome(settled.queued)
  const refuses = schedulingRefusal(binding.spec, world.fleet.clusters)
  const accepting = [...read].filter((name) => refuses(name) === undefined)
  return { idle, queued, accepting: accepting.length > MAX_ACCEPTING ? undefined : accepting }
}

/** Adds the name of each cluster that is looked up to `read`. Prices look up regions and providers, which a worse cluster keeps. */
function recordNames(lookup: ClusterLookup, read: Set<string>): ClusterLookup {
  return (name) => {
    read.add(name)
    return lookup(name)
  }
}

/** The outcome with which a supposition is compared. A binding without a fit is at rest: the scheduler does not try it again. */
export function baseOutcome(
  binding: ResourceBinding,
  { idle, queued }: PresentPrediction,
  isQueued: boolean,
): PresentOutcome {
  return isQueued && !hasNoFit(binding) ? queued : idle
}

/**
 * Whether clusters that got worse may change what becomes of a workload that runs in none of them. The decision is the same if it has found none
 * of them open. The scheduler does the same if it still has a choice: a smaller choice is no effect. With one cluster left, the next decision
 * can be known, and may be another one.
 */
export function mayGetWorse(
  { accepting }: PresentPrediction,
  outcome: PresentOutcome,
  worse: ReadonlyMap<string, Cluster>,
): boolean {
  if (!accepting || accepting.some((name) => worse.has(name))) return true
  return schedulerChoices(outcome).some((choice) => {
    const left = choice.filter((name) => !worse.has(name))
    return left.length < choice.length && left.length <= 1
  })
}

/** Returns the clusters between which the scheduler chooses: at once, and after a waiting time. */
export function schedulerChoices({ first, later }: Scheduled): (readonly string[])[] {
  return [first, ...(later ? [later] : [])].map(({ schedule }) => schedule.among).filter((choice) => choice.length > 0)
}

interface Scheduled {
  first: { schedule: Schedule }
  later?: { schedule: Schedule } | undefined
}
