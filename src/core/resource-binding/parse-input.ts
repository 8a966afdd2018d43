/** What a decision asks of its input again and again, read once: notes are JSON in strings, and claims come in any order. */

import type { PlacementAffinity, ResourceBinding } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../data-source-claim/locate.ts'
import { sortedUnique } from '../json.ts'
import { affinityOf, termsOf } from '../placement/affinity.ts'
import { constraintOf, type DataConstraint } from '../placement/constraint.ts'
import { BASE_OF_POLICY, type BindingAnnotations, type LocalityAnnotation, readAnnotations } from './annotations.ts'
import type { BindingInput } from './input.ts'

/** Our notes with everything in them that was left to the policy and to the placement. */
export interface ResolvedAnnotations extends BindingAnnotations {
  base?: PlacementAffinity
}

export interface ParsedInput extends BindingInput {
  /** Sorted by name: whatever order they came in, the same bytes go out. */
  claims: readonly ClaimAnswer[]
  /** What the located claims demand together. */
  constraint: DataConstraint
  /** Our notes on the binding as it was sent. */
  annotations: ResolvedAnnotations
  /** Our notes on the binding as it is stored. */
  storedAnnotations: ResolvedAnnotations
  /** Whether the scheduler has placed the workload, before or in this write: then a hold comes too late and a change of affinity moves it. */
  isScheduled: boolean
  /** Karmada's ResourceBindingSpec.IsWorkload: only then overflow tiers count. */
  isWorkload: boolean
}

/** What the data demanded when it was noted. */
export function constraintIn({ required, requiredDigest, preferred }: LocalityAnnotation): DataConstraint {
  const constraint: DataConstraint = {}
  if (required) constraint.required = required
  if (requiredDigest) constraint.requiredDigest = requiredDigest
  if (preferred) constraint.preferred = preferred
  return constraint
}

export function parseInput(input: BindingInput): ParsedInput {
  const { binding, stored } = input
  const claims = boundClaims(input.claims)
  return {
    ...input,
    claims: claims.length < 2 ? claims : claims.toSorted((a, b) => (a.claim < b.claim ? -1 : 1)),
    constraint: constraintOf(claims),
    annotations: resolveAnnotations(binding, input),
    storedAnnotations: resolveAnnotations(stored, input),
    isScheduled: isPlaced(binding) || isPlaced(stored),
    isWorkload: isWorkload(binding),
  }
}

/** More claims than these for one workload are not combined: it is on hold until some are deleted. */
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

function isPlaced(binding: BindingInput['stored']): boolean {
  return !!binding?.spec.clusters?.length || !!binding?.spec.gracefulEvictionTasks?.length
}

function isWorkload({ spec }: BindingInput['binding']): boolean {
  return (spec.replicas ?? 0) > 0 || spec.replicaRequirements != null || !!spec.components?.length
}

function resolveAnnotations(binding: ResourceBinding | undefined, { policy }: BindingInput): ResolvedAnnotations {
  const { base, locality, ...rest } = readAnnotations(binding?.metadata.annotations)
  const resolved: ResolvedAnnotations = rest
  if (base === BASE_OF_POLICY) {
    if (policy) resolved.base = affinityOf(policy.placement)
  } else if (base) resolved.base = base
  if (locality) {
    const { required = locality.requiredDigest === undefined ? undefined : namesIn(binding) } = locality
    resolved.locality = required ? { ...locality, required } : locality
  }
  return resolved
}

/** Every cluster that the affinity names: of a narrowed one, those with the data that the base allows. */
function namesIn(binding: ResourceBinding | undefined): string[] {
  return sortedUnique(
    termsOf(affinityOf(binding?.spec.placement), true).flatMap(({ clusterNames }) => clusterNames ?? []),
  )
}
