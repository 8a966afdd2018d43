/** Plans the loop of bindings: repeats the decision of admission when claims or sources change, as one patch with a resourceVersion. */

import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import { bindingTypeIn, type ResourceBinding } from '../../api/karmada.ts'
import { BASE_AFFINITY_ANNOTATION } from '../../api/lodestone.ts'
import { defined, jsonEqual, sortedUnique } from '../../base/json.ts'
import { onPresentClock } from '../../base/time/clock-jumps.ts'
import { earliest } from '../../base/time/earliest.ts'
import { bindingDecisionId } from '../decision-id.ts'
import { strictestRules } from '../karmada-rules.ts'
import { cut } from '../outcome.ts'
import { affinityTerms, effectiveAffinity } from '../placement/affinity.ts'
import { isWorkload, occupiedClusters, targetClusters, usesOverflow } from '../placement/binding-state.ts'
import { placementFilter } from '../placement/placement-filter.ts'
import { type Action, type EventAction, eventAbout, NOTHING, type Plan, patchInto } from '../plan.ts'
import type { EventReason } from '../signal-tables.ts'
import { areOursEqual, readDecision } from './annotations.ts'
import { differsFromPolicy } from './base/candidates.ts'
import { decideBinding, decideUnscheduled } from './decide.ts'
import { planHoldCondition } from './hold-condition.ts'
import { clustersThatRun, holdNotHonored, type NotHonored } from './hold-not-honored.ts'
import type { BindingInput } from './input.ts'
import { narrowedAgain } from './kept-to-data.ts'
import { parseInput } from './parse-input.ts'
import { waitMs } from './returns.ts'

export interface BindingPlan extends Plan {
  /** Whether the patch moves a scheduled workload. The loop limits the moves per minute. */
  moves: boolean
  /**
   * Whether the patch depends on the owner of the binding, which is not cached. It excludes a cluster in which the workload runs, or the workload may
   * be one that is orphaned already. Read the binding, and plan again with `isOrphaned` if its object is gone.
   */
  needsOwner?: boolean
  /**
   * Whether the base of the binding is not the placement of its policy, so that the patch may take this placement. Or the patch removes the base, so
   * that no later one corrects it. The cached policy may be older than the binding: read it from the API server and plan again before the plan is
   * applied.
   */
  needsPolicy?: boolean
  /** Set if the workload was scheduled although it is on hold. */
  notHonored?: NotHonored
}

export interface BindingPlanInput extends BindingInput {
  /** The claims of the workload as objects, also those that are no longer honored: they show a hold that was not honored. Default: none. */
  claimObjects?: readonly DataSourceClaim[]
}

/**
 * Plans for a stored binding: no write if nothing changes, else one patch for the resourceVersion that was read. A hold that was not honored
 * is reported on the binding and on its claims.
 */
export function planBinding(input: BindingPlanInput): BindingPlan {
  const { binding } = input
  const notHonored = planNotHonored(input)
  const decided = notHonored?.restored ?? decideBinding({ ...input, stored: binding }).binding
  const requeueAfterMs = requeueAfter(decided, input)
  const patch = patchInto(bindingTypeIn(binding.metadata.namespace), binding, keepAnnotations(binding, decided))
  if (!patch) return defined({ ...NOTHING, moves: false, requeueAfterMs })
  return defined({
    actions: [
      ...withReport(patch, notHonored?.report, input),
      ...warnings('LocalityNarrowedAgain', narrowedAgain(binding, decided), decided, input),
    ],
    // A hold is restored only while the workload runs nowhere.
    moves: !notHonored?.restored && movesWorkload(binding, decided),
    needsOwner: mayBeOrphaned(binding) || leavesCluster(decided, input) || undefined,
    needsPolicy:
      removesBase(binding, decided) || differsFromPolicy(parseInput({ ...input, stored: binding })) || undefined,
    requeueAfterMs,
    notHonored: notHonored?.report,
  })
}

/** Adds to a patch the report of a hold that was not honored: the condition of each claim, and the Events. */
function withReport(patch: Action, report: NotHonored | undefined, input: BindingPlanInput): Action[] {
  if (!report) return [patch]
  const { claimObjects = [], now } = input
  const { message } = report
  return [
    // The conditions first: after the patch, the binding does not show any more that it was scheduled on hold.
    ...claimObjects.flatMap((claim) => planHoldCondition(claim, report, now)),
    patch,
    // After the patch, which fails if another client was faster: each hold is reported once.
    ...warnings('LocalityHoldNotHonored', message, input.binding, input),
  ]
}

/** Events about a binding and its claims, for the decision in a state of the binding; none without a message. */
function warnings(
  reason: EventReason,
  message: string | undefined,
  decided: ResourceBinding,
  { binding, claimObjects = [] }: BindingPlanInput,
): Action[] {
  if (message === undefined) return []
  const decisionId = bindingDecisionId(decided)
  return [binding, ...claimObjects].map((about) => ({ ...eventAbout(about, 'Warning', reason, message), decisionId }))
}

/**
 * Keeps the map of annotations when the last cached one goes, so that the patch removes single keys. The stored binding has annotations that
 * the cache does not keep, such as those of Karmada's scheduler.
 */
function keepAnnotations({ metadata: before }: ResourceBinding, decided: ResourceBinding): ResourceBinding {
  if (!before.annotations || decided.metadata.annotations) return decided
  return { ...decided, metadata: { ...decided.metadata, annotations: {} } }
}

/** Plans for a hold that was not honored: the report, and the binding on hold again if the workload runs nowhere. */
function planNotHonored(input: BindingInput): { report: NotHonored; restored?: ResourceBinding } | undefined {
  const { binding } = input
  const hold = holdNotHonored(binding)
  if (!hold) return undefined
  const scheduled = sortedUnique(targetClusters(binding.spec)).join(', ')
  const what = cut(`scheduled to ${scheduled} although it is on hold (${hold.reason}: ${hold.message})`, 512)
  const runsIn = clustersThatRun(binding)
  const decisionId = bindingDecisionId(binding)
  const report = (result: NotHonored['result'], rest: string) => ({ result, message: `${what}; ${rest}`, decisionId })
  if (runsIn.length > 0) {
    return { report: report('scheduled', `the hold ends, since the workload runs in ${cut(runsIn.join(', '), 256)}`) }
  }
  const restored = decideUnscheduled({ ...input, stored: binding })?.binding
  return restored
    ? { report: report('restored', 'the hold is restored'), restored }
    : { report: report('scheduled', 'the hold is over') }
}

/**
 * Returns the Events for a new decision in our annotations on a binding. Any writer can be the cause: admission has no side effects and
 * emits none.
 */
export function bindingEvents(before: ResourceBinding | undefined, after: ResourceBinding): EventAction[] {
  const texts = before?.metadata.annotations
  if (areOursEqual(after.metadata.annotations, texts)) return []
  const was = readDecision(texts)
  const is = readDecision(after.metadata.annotations)
  const decisionId = bindingDecisionId(after, is)
  if (before && bindingDecisionId(before, was) === decisionId) return []
  const event = (type: EventAction['type'], reason: EventReason, message: string): EventAction => ({
    ...eventAbout(after, type, reason, message),
    decisionId,
  })
  return [
    ...(is.hold && !is.hold.released ? [event('Warning', 'LocalityHold', is.hold.message)] : []),
    ...(is.hold?.released && !was.hold?.released
      ? [event('Warning', 'LocalityHoldReleased', `hold timed out; scheduled without its data: ${is.hold.message}`)]
      : []),
    ...(was.hold && !is.hold
      ? [event('Normal', 'LocalityHoldEnded', is.locality?.message ?? 'the cause of the hold is gone')]
      : []),
    ...(is.locality
      ? [
          event(
            is.locality.state === 'Relaxed' ? 'Warning' : 'Normal',
            `Locality${is.locality.state}`,
            is.locality.message,
          ),
        ]
      : []),
    // A hold says itself why the narrowing ended.
    ...(was.locality && !is.locality && !is.hold
      ? [event('Normal', 'LocalityRestored', 'no claim narrows this workload; the clusters of its policy apply')]
      : []),
  ]
}

/** In ms. Admission decides on a release with its own clock and cache, so the loop retries until the release is stored. */
const RELEASE_RETRY_MS = 5000

/**
 * Milliseconds until the decision changes by time alone. A deleted claim is no longer honored, a hold is released, or a workload returns to
 * its data or loses its narrowing.
 */
export function requeueAfter(decided: ResourceBinding, input: BindingInput): number | undefined {
  const { binding, claims, now, jumps } = input
  const at = (time: string) => onPresentClock(Date.parse(time), jumps)
  const times = claims.flatMap(({ honoredUntil }) => honoredUntil ?? [])
  const { hold, locality } = readDecision(decided.metadata.annotations)
  if (locality?.since) {
    times.push(at(locality.since) + waitMs(locality, input.timing))
  }
  if (hold?.released && !readDecision(binding.metadata.annotations).hold?.released) times.push(now + RELEASE_RETRY_MS)
  if (hold && !hold.released) {
    const holdSince = at(hold.since)
    const seconds = claims.flatMap(({ holdTimeoutSeconds }) => holdTimeoutSeconds ?? [])
    times.push(...seconds.map((timeout) => holdSince + timeout * 1000))
  }
  const next = earliest(...times)
  return next === undefined ? undefined : Math.max(0, next - now)
}

function removesBase(before: ResourceBinding, after: ResourceBinding): boolean {
  const [was, is] = [before, after].map(({ metadata }) => metadata.annotations?.[BASE_AFFINITY_ANNOTATION])
  return was !== undefined && is === undefined
}

/** Whether a stored decision is that of an orphaned workload, or one that looks alike. Few are, and they seldom change. */
function mayBeOrphaned({ metadata: { annotations } }: ResourceBinding): boolean {
  const { locality } = readDecision(annotations)
  return locality !== undefined && locality.state !== 'Narrowed'
}

/** Whether the placement of a planned binding excludes a cluster in which the workload runs. A relaxed workload may leave it too. */
function leavesCluster({ spec }: ResourceBinding, { clusters, rules = strictestRules }: BindingInput): boolean {
  const { allows } = placementFilter(effectiveAffinity(spec.placement), clusters, usesOverflow(spec, rules), rules)
  return occupiedClusters(spec).some((name) => !allows(name))
}

/**
 * Whether a write may start the workload in other clusters. The affinity excludes a cluster in which it runs, or so does the group that the
 * scheduler chose last. Or the scheduler begins with the first group again, or the narrowing ends. The workload still runs where it is until the
 * scheduler acts.
 */
function movesWorkload(before: ResourceBinding, after: ResourceBinding): boolean {
  const clusters = occupiedClusters(before.spec)
  const affinity = effectiveAffinity(after.spec.placement)
  if (clusters.length === 0 || jsonEqual(affinity, effectiveAffinity(before.spec.placement))) return false
  const was = readDecision(before.metadata.annotations).locality
  const is = readDecision(after.metadata.annotations).locality
  const isReleased = was?.state === 'Kept' && was.since !== undefined && is?.since === undefined
  if (was && (!is || isReleased)) return true
  // To relax a binding saves its workload from deletion, so it never waits.
  if (is?.state === 'Relaxed') return false
  if (affinity.clusterAffinities && (was?.round ?? 0) !== (is?.round ?? 0)) return true
  if (is?.preferred) {
    // The scheduler begins with the group that it chose last. The first one names the clusters with preferred data.
    const { clusterAffinities: groups = [] } = affinity
    const observed = before.status?.schedulerObservingAffinityName
    const { clusterNames: names = [] } = groups.find((group) => group.affinityName === observed) ?? groups[0] ?? {}
    if (names.length > 0 && clusters.some((name) => !names.includes(name))) return true
  }
  const terms = affinityTerms(affinity, isWorkload(after.spec))
  const allowed = new Set(terms.flatMap(({ clusterNames }) => clusterNames ?? []))
  if (terms.some(({ clusterNames }) => !clusterNames?.length)) return false
  return clusters.some((name) => !allowed.has(name))
}
