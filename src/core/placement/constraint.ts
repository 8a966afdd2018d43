/** From the answers to a workload's claims to what they demand together: required ones intersect, preferred ones rank. */
import type { ClaimAnswer } from '../data-source-claim/locate.ts'
import { sortedUnique } from '../json.ts'

/** What the data demands of a placement. An absent member demands nothing; an empty `required` can not be met. */
export interface DataConstraint {
  /** The clusters that hold everything required, sorted. */
  required?: readonly string[]
  /** Clusters that hold preferred data, each tier sorted, in tiers from most bytes to least. */
  preferred?: readonly (readonly string[])[]
}

/** The constraint of every located claim; the order of the claims does not matter. Claims that are not located say nothing here. */
export function constraintOf(claims: readonly ClaimAnswer[]): DataConstraint {
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
  const tiers = rank(preferred)
  if (tiers.length > 0) constraint.preferred = tiers
  return constraint
}

function intersect(sets: readonly (readonly string[])[]): string[] {
  const [first = [], ...rest] = sets
  if (rest.length === 0) return [...first]
  const others = rest.map((set) => new Set(set))
  return sortedUnique(first.filter((name) => others.every((set) => set.has(name))))
}

/** Clusters by how many preferred bytes, then claims, are local to them; equal ones share a tier. */
function rank(claims: readonly { clusters: readonly string[]; bytes: number }[]): string[][] {
  if (claims.length === 0) return []
  const local = new Map<string, { bytes: number; claims: number }>()
  for (const { clusters, bytes } of claims) {
    for (const name of clusters) {
      const sum = local.get(name) ?? { bytes: 0, claims: 0 }
      local.set(name, { bytes: sum.bytes + bytes, claims: sum.claims + 1 })
    }
  }
  const sums = [...local]
    .map(([name, sum]) => ({ name, ...sum }))
    .sort((a, b) => b.bytes - a.bytes || b.claims - a.claims)
  const tiers = Map.groupBy(sums, ({ bytes, claims: count }) => `${bytes}/${count}`)
  return [...tiers.values()].map((tier) => sortedUnique(tier.map(({ name }) => name)))
}
