/** Parses the input of a decision once: sorts the claims, combines their constraints and reads our annotations. */
import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import { sortedUnique } from '../../base/json.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { type KarmadaRules, newestRules, strictestRules } from '../karmada-rules.ts'
import { affinityTerms, effectiveAffinity } from '../placement/affinity.ts'
import { hasTarget, isPlaced, usesOverflow } from '../placement/binding-state.ts'
import { combineClaims, type DataConstraint, keepRanking } from '../placement/constraint.ts'
import {
  areOursEqual,
  BASE_OF_POLICY,
  type BindingAnnotations,
  isNarrowing,
  type LocalityAnnotation,
  readAnnotations,
} from './annotations.ts'
import type { BindingInput } from './input.ts'
import type { PlacementTiming } from './timing.ts'

/** Our annotations, with references replaced by the base of the policy and the cluster names of the placement. */
export interface ResolvedAnnotations extends BindingAnnotations {
  base?: PlacementAffinity
}

export interface ParsedInput extends BindingInput {
  /** Sorted by name, so that the same claims give the same bytes in any order. */
  claims: readonly ClaimAnswer[]
  /** The combined constraint of all located claims, with the last ranking of a workload that runs. */
  constraint: DataConstraint
  /** Our annotations on the binding that the requester sent. */
  annotations: ResolvedAnnotations
  /** Our annotations on the stored binding. */
  storedAnnotations: ResolvedAnnotations
  /** Whether the workload has clusters, before or by this write, or is being evicted. */
  isPlaced: boolean
  /**
   * Whether the workload is placed, or was until the scheduler found no cluster for our narrowing. Then a hold has no effect, and a change
   * of the affinity moves the workload.
   */
  isScheduled: boolean
  /** The affinity group that the scheduler chose last. */
  observedGroup: string | undefined
  /** The rules of the connected Karmada; the strictest if they are not known. They allow only what each version allows. */
  rules: KarmadaRules
  /** The rules that allow what the connected Karmada may allow: the newest if its rules are not known. */
  loosestRules: KarmadaRules
  timing: PlacementTiming
  /** Whether overflow tiers count: they do for workloads, if the connected Karmada has them. */
  usesOverflow: boolean
}

/** The constraint in a locality annotation. */
export function constraintIn({ required, requiredDigest, preferred, rankedFrom }: LocalityAnnotation): DataConstraint {
  const constraint: DataConstraint = {}
  if (required) constraint.required = required
  if (requiredDigest) constraint.requiredDigest = requiredDigest
  if (preferred) constraint.preferred = preferred
  if (rankedFrom) constraint.rankedFrom = rankedFrom
  return constraint
}

/** Reads what all rules need from the input of a decision, once. */
export function parseInput(input: BindingInput): ParsedInput {
  const { binding, stored, rules = strictestRules } = input
  const claims = boundClaims(input.claims)
  const ours = readAnnotations(binding.metadata.annotations)
  const annotations = resolveAnnotations(ours, binding, input)
  // Nearly every write keeps our annotations. The loop decides on the stored binding itself.
  const isKept = areOursEqual(binding.metadata.annotations, stored?.metadata.annotations)
  const storedAnnotations =
    stored === binding
      ? annotations
      : resolveAnnotations(isKept ? ours : readAnnotations(stored?.metadata.annotations), stored, input)
  const placed = isPlaced(binding.spec) || isPlaced(stored?.spec)
  const constraint = combineClaims(claims, input.prices)
  const { locality: last } = storedAnnotations
  return {
    ...input,
    claims: claims.length < 2 ? claims : claims.toSorted((a, b) => (a.claim < b.claim ? -1 : 1)),
    constraint: last && hasTarget(binding.spec) ? keepRanking(constraint, last) : constraint,
    annotations,
    storedAnnotations,
    isPlaced: placed,
    isScheduled: placed || (isNarrowing(storedAnnotations.locality) && stored?.status?.lastScheduledTime !== undefined),
    observedGroup: stored?.status?.schedulerObservingAffinityName,
    rules,
    loosestRules: input.rules ?? newestRules,
    timing: input.timing,
    usesOverflow: usesOverflow(binding.spec, rules),
  }
}

/** At most this many claims of one workload are combined. With more claims, the workload is on hold until some are deleted. */
const MAX_CLAIMS = 64

function boundClaims(claims: readonly ClaimAnswer[]): readonly ClaimAnswer[] {
  if (claims.length <= MAX_CLAIMS) return claims
  const reason = `more than ${MAX_CLAIMS} claims name this workload; delete some`
  return [
    {
      claim: `${claims.length} claims`,
      enforcement: 'Required',
      onUnresolved: 'Hold',
      onUnsatisfiable: 'Hold',
      rebalance: 'Auto',
      holdTimeoutSeconds: undefined,
      answer: { kind: 'unknown', reason },
    },
  ]
}

function resolveAnnotations(
  { base, locality, ...rest }: BindingAnnotations,
  binding: ResourceBinding | undefined,
  { policy }: BindingInput,
): ResolvedAnnotations {
  const resolved: ResolvedAnnotations = rest
  if (base === BASE_OF_POLICY) {
    if (policy) resolved.base = effectiveAffinity(policy.placement)
  } else if (base) resolved.base = base
  if (locality) {
    const { required = locality.requiredDigest === undefined ? undefined : namesIn(binding) } = locality
    resolved.locality = required ? { ...locality, required } : locality
  }
  return resolved
}

/** Returns every cluster that the affinity names. A narrowed affinity names the clusters with the data that the base allows. */
function namesIn(binding: ResourceBinding | undefined): string[] {
  return sortedUnique(
    affinityTerms(effectiveAffinity(binding?.spec.placement), true).flatMap(({ clusterNames }) => clusterNames ?? []),
  )
}
