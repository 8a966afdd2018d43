/** Narrows the base of a binding to clusters of which Karmada's scheduler accepts at least one. */
import {
  APPLIED_PLACEMENT_ANNOTATION,
  type BindingSpec,
  type Placement,
  type PlacementAffinity,
} from '../../api/karmada.ts'
import { defined, jsonEqual, without } from '../../base/json.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { describeRefusals, moveRefusal, type Refusal, schedulingRefusal } from '../placement/acceptance.ts'
import { effectiveAffinity, withAffinity } from '../placement/affinity.ts'
import { hasNoChoice, hasNoFit, isDivided, occupiedClusters, targetClusters } from '../placement/binding-state.ts'
import type { DataConstraint } from '../placement/constraint.ts'
import { chosenGroup, type FitInput, findMisfit, type Misfit, mayFit } from '../placement/fit.ts'
import { nameGroups, skipsFirstGroup } from '../placement/group-names.ts'
import { type Narrowing, narrowPlacement } from '../placement/narrow.ts'
import { placementFilter } from '../placement/placement-filter.ts'
import { maxClusters, spreadCheck } from '../placement/spread.ts'
import { weightCheck } from '../placement/weights.ts'
import { rankedFigure } from '../transfer-cost/rank.ts'
import { parseAnnotation } from './annotations.ts'
import type { ParsedInput } from './parse-input.ts'
import { groupNameRound } from './placement-decision.ts'

/** A narrowing for which the scheduler would find a cluster. */
export interface FittingNarrowing {
  kind: 'narrowed'
  affinity: PlacementAffinity
  /** The affinity with the names of round 0. */
  unnamed: PlacementAffinity
  /** Every cluster that the affinity allows; undefined if no data is required. */
  allowed: string[] | undefined
  /** The round of the names of groups. */
  round: number
  /** Why preferred data changes nothing, if it does not. */
  preferenceProblem?: string
  /** The first group that fits, if it has only clusters with preferred data. */
  preferredGroup?: readonly string[]
  /** With preferred data: the clusters of the group that the scheduler chooses; absent if they are not named. */
  chosen?: readonly string[]
}

/** Narrows a base. The groups get new names if the scheduler, which then begins with the first one, would skip better groups. */
export function narrowToFit(
  input: ParsedInput,
  base: PlacementAffinity,
  constraint: DataConstraint,
): FittingNarrowing | Misfit {
  const { binding, clusters, usesOverflow, observedGroup } = input
  const { preferred } = constraint
  const { placement, narrowing, refuses, preferenceProblem: problem } = narrowBase(input, base, constraint)
  if (narrowing.kind !== 'narrowed') return narrowing
  const round = groupNameRound(input)
  const fit: FitInput = {
    affinity: nameGroups(narrowing.affinity, round),
    refuses,
    spread: spreadCheck(placement, clusters),
    usesOverflow,
    observedGroup,
  }
  const fitAnew = { ...fit, observedGroup: undefined }
  const refusesMove = moveRefusal(binding.spec, clusters)
  const moveProblem = preferred && !problem ? preferredMoveProblem(input, narrowing, fit, refusesMove) : undefined
  if (moveProblem) {
    const unmoved = narrowToFit(input, base, without(constraint, 'preferred'))
    return unmoved.kind === 'narrowed' ? { ...unmoved, preferenceProblem: moveProblem } : unmoved
  }
  const isRequired = narrowing.allowed !== undefined
  const isUnfit = isRequired && findMisfit({ ...fit, refuses: refusesMove }) !== undefined
  const misfit = isUnfit ? findMisfit({ ...fitAnew, refuses: refusesMove }) : undefined
  if (misfit !== undefined) return { kind: 'unfit', reason: misfit }
  // Without required data, all groups of the base are there. The scheduler skips some of them only if it knows their new names.
  const isStuck = !isRequired && round > 0 && !mayFit(fit) && mayFit(fitAnew)
  const isNew = isUnfit || isStuck || (preferred !== undefined && !problem && leavesBetterGroup(input, fit))
  const result: FittingNarrowing = {
    ...narrowing,
    affinity: isNew ? nameGroups(narrowing.affinity, round + 1) : fit.affinity,
    unnamed: narrowing.affinity,
    round: isNew ? round + 1 : round,
  }
  if (problem) result.preferenceProblem = problem
  else if (preferred) {
    const chosen = chosenGroup(isNew ? fitAnew : fit)
    if (chosen) result.chosen = chosen
    const group = firstFitting(result.affinity, { ...fit, refuses: refusesMove })
    if (group?.every((name) => preferred.some((tier) => tier.includes(name)))) result.preferredGroup = group
  }
  return result
}

/**
 * Whether the workload would move since the group that the scheduler chose last has other clusters than before: the preferred data or the policy
 * changed. A better group before it may have the cluster in which the workload runs.
 */
function leavesBetterGroup({ binding, stored }: ParsedInput, fit: FitInput): boolean {
  const { affinity, observedGroup } = fit
  if (!skipsFirstGroup(affinity, observedGroup)) return false
  const clustersIn = ({ clusterAffinities = [] }: PlacementAffinity) =>
    clusterAffinities.find(({ affinityName }) => affinityName === observedGroup)?.clusterNames
  if (jsonEqual(clustersIn(affinity), clustersIn(stored?.spec.placement ?? {}))) return false
  const chosen = chosenGroup(fit)
  return chosen !== undefined && occupiedClusters(binding.spec).some((name) => !chosen.includes(name))
}

/** Why a workload must not move to the group that the scheduler would choose by a preference, as a part of a sentence. */
function preferredMoveProblem(
  input: ParsedInput,
  narrowing: Pick<FittingNarrowing, 'allowed'>,
  fit: FitInput,
  refusesMove: Refusal,
): string | undefined {
  if (movesDividedReplicas(input, narrowing, fit)) return DIVIDED_REPLICAS
  const chosen = chosenGroup(fit)
  const moves = chosen && occupiedClusters(input.binding.spec).some((name) => !chosen.includes(name))
  return moves && chosen.every((name) => refusesMove(name) !== undefined)
    ? describeRefusals(chosen, refusesMove)
    : undefined
}

/** Whether the scheduler would take replicas from one of several clusters that may keep them, since it would choose a group without it. */
function movesDividedReplicas(
  { binding }: ParsedInput,
  { allowed }: Pick<FittingNarrowing, 'allowed'>,
  fit: FitInput,
): boolean {
  const clusters = occupiedClusters(binding.spec)
  if (clusters.length < 2) return false
  const chosen = chosenGroup(fit)
  if (!chosen) return false
  return clusters.some((name) => !chosen.includes(name) && (allowed?.includes(name) ?? true))
}

/**
 * Whether the scheduler would find no cluster for a binding with this affinity: each of its groups names clusters, and too few accept it. A cluster
 * may have got other labels since it was named.
 */
export function isUnfit(
  { binding, clusters, usesOverflow, observedGroup, rules }: ParsedInput,
  affinity: PlacementAffinity,
): boolean {
  const refuses = schedulingRefusal(binding.spec, clusters)
  const { allows } = placementFilter(affinity, clusters, usesOverflow, rules)
  return !mayFit({
    affinity,
    refuses: (name) => refuses(name) ?? (allows(name) ? undefined : 'does not match the selectors'),
    spread: spreadCheck(withAffinity(binding.spec.placement ?? {}, affinity), clusters),
    usesOverflow,
    observedGroup,
  })
}

/**
 * Whether the scheduler has tried this affinity for a workload that has no cluster, and has found none. It records a placement that no cluster fits.
 * One among whose clusters it could not choose is the stored one.
 */
export function isRefused({ binding, stored }: ParsedInput, affinity: PlacementAffinity): boolean {
  if (!stored || occupiedClusters(binding.spec).length > 0) return false
  if (hasNoChoice(stored)) return jsonEqual(effectiveAffinity(stored.spec.placement), affinity)
  const applied = binding.metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]
  return (
    hasNoFit(stored) &&
    applied !== undefined &&
    jsonEqual(parseAnnotation(applied), withAffinity(binding.spec.placement ?? {}, affinity))
  )
}

/**
 * Narrows a base, without a check that the scheduler accepts the result. But static weights count only in clusters that it accepts. Preferred data is
 * left out if it must not change the clusters. `refuses`: why the scheduler refuses a cluster, compiled once.
 */
export function narrowBase(
  {
    binding,
    claims,
    clusters,
    clusterNames,
    usesOverflow,
    rules,
  }: Pick<ParsedInput, 'binding' | 'claims' | 'clusters' | 'clusterNames' | 'usesOverflow' | 'rules'>,
  base: PlacementAffinity,
  constraint: DataConstraint,
): { placement: Placement; narrowing: Narrowing; refuses: Refusal; preferenceProblem: string | undefined } {
  const placement = withAffinity(binding.spec.placement ?? {}, base)
  const { preferred, ...required } = constraint
  const problem = preferred && preferenceProblem({ spec: binding.spec, preferred: withData(preferred, claims) })
  const applied = problem ? required : constraint
  const runsIn = targetClusters(binding.spec)
  const refuses = schedulingRefusal(binding.spec, clusters)
  const weights = isDivided(binding.spec)
    ? weightCheck(placement, { clusters, clusterNames, rules, runsIn, refuses })
    : undefined
  const narrowing = narrowPlacement({ base: placement, constraint: applied, clusters, usesOverflow, rules, weights })
  return { placement, narrowing, refuses, preferenceProblem: problem }
}

/** A ranking by cost has clusters without data too. They do not count as clusters in which the data is. */
function withData(preferred: readonly (readonly string[])[], claims: readonly ClaimAnswer[]) {
  if (rankedFigure(claims) === undefined) return preferred
  return claims.flatMap(({ enforcement, answer }) =>
    enforcement === 'Preferred' && answer.kind === 'located' ? [answer.clusters] : [],
  )
}

/** Returns the names of the first group that the scheduler would choose, if it began with the first. */
function firstFitting(
  { clusterAffinities = [] }: PlacementAffinity,
  fit: Omit<FitInput, 'affinity' | 'observedGroup'>,
): readonly string[] | undefined {
  return clusterAffinities.find(
    (group) => findMisfit({ ...fit, affinity: { clusterAffinities: [group] }, observedGroup: undefined }) === undefined,
  )?.clusterNames
}

/** Why a preference does not move a workload, as a part of a sentence. */
export const DIVIDED_REPLICAS = 'the replicas are divided over several clusters, and a preference moves none of them'

interface PreferenceInput {
  spec: Omit<BindingSpec, 'resource'>
  preferred: readonly (readonly string[])[]
}

/** Returns why a preference must not change the clusters, as a part of a sentence; undefined if it may. */
export function preferenceProblem({ spec, preferred }: PreferenceInput): string | undefined {
  if (!isDivided(spec)) {
    return maxClusters(spec.placement) === 1 ? undefined : `${whyCopied(spec)}, and a preference removes no copy`
  }
  const clusters = occupiedClusters(spec)
  const isPreferred = (name: string) => preferred.some((tier) => tier.includes(name))
  return clusters.length > 1 && !clusters.every(isPreferred) ? DIVIDED_REPLICAS : undefined
}

/** Why Karmada runs a copy in each cluster: the policy says so, or it divides replicas that Karmada cannot divide. */
function whyCopied({ replicas = 0, components = [], placement }: PreferenceInput['spec']): string {
  if (isDivided({ replicas: 1, ...defined({ placement }) })) {
    const what = replicas > 0 || components.length > 0 ? 'a workload with components' : 'an object without replicas'
    return `Karmada does not divide ${what}, and runs a copy in each of its clusters`
  }
  return 'the policy runs a copy in each of its clusters (Duplicated)'
}
