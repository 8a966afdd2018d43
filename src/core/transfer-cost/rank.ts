/** Ranks clusters by the cost of bringing preferred data to them. */
import type { ClaimAnswer } from '../data-source/locate.ts'
import type { ClusterLookup } from '../placement/affinity.ts'
import { MAX_COMPARED_PRICES } from '../placement/limits.ts'
import type { TransferMatrix } from './matrix.ts'
import { type CostFigure, dataOfClaims, openTransferCosts, type UsedData } from './transfer-cost.ts'

/** The price matrix, and the clusters to which it applies. */
export interface FleetPrices {
  matrix: TransferMatrix
  clusters: ClusterLookup
  /** Returns the names of all clusters. */
  clusterNames(): readonly string[]
}

/** Returns the figure by which a workload ranks clusters; undefined for bytes. Of several preferences, that of the first claim by name counts. */
export function rankedFigure(claims: readonly ClaimAnswer[]): CostFigure | undefined {
  const ranking = claims.filter(
    ({ enforcement, preference }) => enforcement === 'Preferred' && preference !== undefined,
  )
  const [first, ...others] = ranking
  const chosen = others.reduce((lowest, one) => (lowest && lowest.claim < one.claim ? lowest : one), first)
  if (chosen?.preference === 'Cost') return 'money'
  return chosen?.preference === 'Time' ? 'seconds' : undefined
}

/**
 * Returns tiers of all clusters whose cost is known, the cheapest or fastest first; equal ones share a tier. Returns undefined if bytes decide:
 * without such a preference, without prices or located data, and for too many prices to compare.
 */
export function rankByCost(claims: readonly ClaimAnswer[], prices: FleetPrices | undefined): string[][] | undefined {
  const by = rankedFigure(claims)
  if (by === undefined || !prices) return undefined
  const { matrix, clusters } = prices
  const data = dataOfClaims(
    claims.filter(({ enforcement, answer }) => enforcement === 'Preferred' && answer.kind === 'located'),
  )
  const names = data.length > 0 ? prices.clusterNames() : []
  if (names.length === 0 || names.length * sourcePlaces(data, prices) > MAX_COMPARED_PRICES) return undefined
  const costOf = openTransferCosts({ data, clusters, matrix, by })
  const ranked = names.flatMap((name) => {
    const cost = costOf(name)[by]
    return cost === undefined ? [] : [{ name, cost }]
  })
  ranked.sort((a, b) => a.cost - b.cost)
  // Sums of the same prices in another order differ in their last digits.
  return [...Map.groupBy(ranked, ({ cost }) => cost.toPrecision(12)).values()].map((tier) =>
    tier.map(({ name }) => name),
  )
}

function sourcePlaces(data: readonly UsedData[], { matrix, clusters }: FleetPrices): number {
  return data.reduce(
    (sum, piece) => sum + new Set(piece.clusters?.map((name) => matrix.placeOf(clusters(name)))).size,
    0,
  )
}
