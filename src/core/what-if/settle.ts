/** Decides on a binding until nothing changes any more: at once, and after the waiting times of Lodestone. */
import type { ResourceBinding } from '../../api/karmada.ts'
import { jsonEqual } from '../../base/json.ts'
import { isDivided, targetClusters } from '../placement/binding-state.ts'
import { type BindingDecision, decideBinding } from '../resource-binding/decide.ts'
import type { BindingInput } from '../resource-binding/input.ts'
import { requeueAfter } from '../resource-binding/plan.ts'
import type { Fleet } from './fleet.ts'
import { predictSchedule, type Schedule } from './schedule.ts'

/** A decision, and what Karmada's scheduler makes of it. */
export interface Step {
  decision: BindingDecision
  schedule: Schedule
  /** After how many seconds: 0 at once. */
  afterSeconds: number
}

export interface Settled {
  first: Step
  /** The step after a waiting time, if nothing else changes; absent without one. */
  later?: Step
}

/** A hold and a return to the data have one waiting time each. */
const MAX_WAITS = 4

export interface SettleInput extends BindingInput {
  fleet: Fleet
  /** Whether a cluster changed that the binding allows. */
  isQueued: boolean
}

/**
 * Repeats the production decision: first that of admission for a write of Karmada, then that of the loop. The loop decides again at each time
 * at which it would. The locations of data stay as they are, since data systems confirm them.
 *
 * @param input with the binding as Karmada writes it, and the stored one
 */
export function settle(input: SettleInput): Settled {
  return addLater(scheduleFirst(decideFirst(input), input), input)
}

/** As `settle`, for a binding that the scheduler leaves alone (`idle`) and for one that it looks at again (`queued`). */
export function settleBoth(input: Omit<SettleInput, 'isQueued'>): { idle: Settled; queued: Settled } {
  const decision = decideFirst(input)
  const alone = scheduleFirst(decision, { ...input, isQueued: false })
  const again = scheduleFirst(decision, { ...input, isQueued: true })
  const idle = addLater(alone, input)
  return { idle, queued: jsonEqual(alone.schedule, again.schedule) ? idle : addLater(again, input) }
}

function decideFirst(input: BindingInput): BindingDecision {
  const { stored, binding } = input
  const admitted = stored === binding ? binding : decideBinding({ ...input, leavesMovesToLoop: true }).binding
  return decideByLoop(admitted, input)
}

function scheduleFirst(decision: BindingDecision, { stored, fleet, isQueued }: SettleInput): Step {
  const schedule = predictSchedule({ binding: decision.binding, before: stored, fleet, isQueued })
  return { decision, schedule, afterSeconds: 0 }
}

function addLater(first: Step, input: Omit<SettleInput, 'isQueued'>): Settled {
  const later = afterWaits(first, input)
  return later ? { first, later } : { first }
}

/** A workload that may go to one of several clusters has no further step: the next decision depends on the choice of the scheduler. */
function afterWaits({ decision, schedule }: Step, input: Omit<SettleInput, 'isQueued'>): Step | undefined {
  const { fleet } = input
  let stored = rescheduled(decision.binding, schedule)
  let now = input.now
  let later: Step | undefined
  for (let wait = 0; wait < MAX_WAITS && stored; wait++) {
    const waitMs = requeueAfter(stored, { ...input, binding: stored, stored, now })
    if (waitMs === undefined) break
    now += waitMs
    const next = decideByLoop(stored, { ...input, now })
    if (next.binding === stored) break
    const found = predictSchedule({ binding: next.binding, before: stored, fleet, isQueued: false })
    later = { decision: next, schedule: found, afterSeconds: Math.round((now - input.now) / 1000) }
    stored = rescheduled(next.binding, found)
  }
  return later
}

/** The loop writes a binding once: its decision on what it wrote changes nothing. */
function decideByLoop(stored: ResourceBinding, input: BindingInput): BindingDecision {
  return decideBinding({ ...input, binding: stored, stored, leavesMovesToLoop: false })
}

/** Returns the binding after the scheduler and after evictions; undefined if its clusters cannot be known. */
function rescheduled(binding: ResourceBinding, schedule: Schedule): ResourceBinding | undefined {
  const { keeps, among, takesAll, problem, group } = schedule
  if (problem !== undefined || (among.length > 0 && !takesAll)) return undefined
  const { clusters = [], gracefulEvictionTasks: tasks, ...spec } = binding.spec
  const present = targetClusters(binding.spec)
  // Of divided replicas, decisions read only whether there are some.
  const joined = (name: string) => ({ name, ...(isDivided(binding.spec) && { replicas: 1 }) })
  const isSameGroup = group === undefined || group === binding.status?.schedulerObservingAffinityName
  if (among.length === 0 && keeps.length === present.length && !tasks && isSameGroup) return binding
  const next = [...keeps, ...among].map((name) => clusters.find((cluster) => cluster.name === name) ?? joined(name))
  const status = { ...binding.status, ...(group !== undefined && { schedulerObservingAffinityName: group }) }
  return { ...binding, status, spec: { ...spec, ...(next.length > 0 && { clusters: next }) } }
}
