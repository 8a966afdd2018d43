/** Combines the claims of a workload into one constraint: required clusters are intersected, preferred clusters are ranked. */
import { listDigest } from '../../base/hash.ts'
import { jsonEqual, membership, sortedUnique } from '../../base/json.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { type FleetPrices, rankByCost, rankedFrom } from '../transfer-cost/rank.ts'
import { MAX_PREFERRED_CLUSTERS, MAX_TIERS } from './limits.ts'

/** The constraint of data on a placement. An absent member demands nothing; an empty `required` is not satisfiable. */
export interface DataConstraint {
  /** The clusters that have all required data, sorted. */
  required?: readonly string[]
  /** Replaces the complete list if `required` has only the clusters that the base allows. */
  requiredDigest?: string
  /** Clusters with preferred data, in tiers from most bytes to least. Each tier is sorted. */
  preferred?: readonly (readonly string[])[]
  /** With a preference of Cost or Time: a digest of the figure and the locations by which the clusters are ranked. */
  rankedFrom?: string
}

/**
 * Combines all located claims; their order does not matter. Claims that are not located add nothing. A preference of Cost or Time without prices
 * counts as Bytes.
 */
export function combineClaims(claims: readonly ClaimAnswer[], prices: FleetPrices | undefined): DataConstraint {
  const required: (readonly string[])[] = []
  const preferred: { clusters: readonly string[]; bytes: number }[] = []
  for (const { enforcement, answer } of claims) {
    if (answer.kind !== 'located') continue
    const { clusters, bytes = 0 } = answer
    if (enforcement === 'Required') required.push(clusters)
    else preferred.push({ clusters, bytes })
  }
  const constraint: DataConstraint = {}
  if (required.length > 0) constraint.required = intersect(required)
  const tiers = limitTiers([...(rankByCost(claims, prices) ?? []), ...rank(preferred)])
  if (tiers.length > 0) constraint.preferred = tiers
  const digest = tiers.length > 0 ? rankedFrom(claims) : undefined
  if (digest !== undefined) constraint.rankedFrom = digest
  return constraint
}

/**
 * Keeps the last ranking of a workload that runs, as long as its data is where it was. So a change of prices, sizes or the fleet moves no
 * running workload.
 */
export function keepRanking(
  constraint: DataConstraint,
  { preferred, rankedFrom: before }: DataConstraint,
): DataConstraint {
  const isKept = preferred !== undefined && before !== undefined && before === constraint.rankedFrom
  return isKept ? { ...constraint, preferred } : constraint
}

/** Whether two constraints demand the same clusters. */
export function demandsSame(one: DataConstraint, other: DataConstraint): boolean {
  if (!jsonEqual(one.preferred, other.preferred)) return false
  if (one.requiredDigest === undefined && other.requiredDigest === undefined) {
    return jsonEqual(one.required, other.required)
  }
  return constraintDigest(one) === constraintDigest(other)
}

function constraintDigest({ required, requiredDigest }: DataConstraint): string | undefined {
  return requiredDigest ?? (required && listDigest(required))
}

function intersect(sets: readonly (readonly string[])[]): readonly string[] {
  const [first = [], ...rest] = sets
  if (rest.length === 0) return first
  return sortedUnique(rest.reduce((names, other) => names.filter(membership(other)), first))
}

/** Ranks clusters by the bytes, then by the number of the preferred claims that are local to them. Equal clusters share a tier. */
function rank(claims: readonly { clusters: readonly string[]; bytes: number }[]): readonly (readonly string[])[] {
  const [only, ...others] = claims
  if (!only) return []
  if (others.length === 0) return [only.clusters.slice(0, MAX_PREFERRED_CLUSTERS)]
  const local = new Map<string, { bytes: number; claims: number }>()
  for (const { clusters, bytes } of claims) {
    for (const name of clusters) {
      const sum = local.get(name) ?? { bytes: 0, claims: 0 }
      local.set(name, { bytes: sum.bytes + bytes, claims: sum.claims + 1 })
    }
  }
  const sums = [...local]
    .map(([name, sum]) => ({ name, ...sum }))
    .sort((a, b) => b.bytes - a.bytes || b.claims - a.claims || (a.name < b.name ? -1 : 1))
    .slice(0, MAX_PREFERRED_CLUSTERS)
  const tiers = [...Map.groupBy(sums, ({ bytes, claims: count }) => `${bytes}/${count}`).values()]
  return tiers.map((tier) => tier.map(({ name }) => name))
}

/** Keeps each cluster in its first tier. Clusters of lower rank share the last one. */
function limitTiers(tiers: readonly (readonly string[])[]): readonly (readonly string[])[] {
  if (tiers.length < 2) return tiers
  const seen = new Set<string>()
  const distinct = tiers.map((tier) =>
    tier.filter((name) => seen.size < MAX_PREFERRED_CLUSTERS && !seen.has(name) && seen.add(name)),
  )
  const present = distinct.filter((tier) => tier.length > 0)
  const last = present.slice(MAX_TIERS - 1).flat()
  return [...present.slice(0, MAX_TIERS - 1), ...(last.length > 0 ? [last] : [])].map(sortedUnique)
}
