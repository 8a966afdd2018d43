/** Ranks clusters by the cost of bringing preferred data to them. */
import { listDigest } from '../../base/hash.ts'
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
  const data = preferredData(claims)
  const names = data.length > 0 ? prices.clusterNames() : []
  if (comparedPrices(data, names, prices) > MAX_COMPARED_PRICES) return undefined
  const costOf = openTransferCosts({ data, clusters, matrix, by })
  const byValue = Map.groupBy(names, (name) => costOf(name)[by])
  const ranked = [...byValue].filter((entry): entry is [number, string[]] => entry[0] !== undefined)
  if (ranked.length === 0) return undefined
  ranked.sort(([a], [b]) => a - b)
  // Sums of the same prices in another order differ in their last digits.
  return [...Map.groupBy(ranked, ([cost]) => cost.toPrecision(12)).values()].map((equal) =>
    equal.flatMap(([, members]) => members),
  )
}

/**
 * Returns a digest of what clusters are ranked from, except prices and sizes: the figure, and the clusters of each piece of data. Returns
 * undefined if bytes decide.
 */
export function rankedFrom(claims: readonly ClaimAnswer[]): string | undefined {
  const by = rankedFigure(claims)
  if (by === undefined) return undefined
  const locations = preferredData(claims).map(({ clusters = [] }) => clusters.join())
  return listDigest([by, ...locations.sort()])
}

function preferredData(claims: readonly ClaimAnswer[]): UsedData[] {
  return dataOfClaims(
    claims.filter(({ enforcement, answer }) => enforcement === 'Preferred' && answer.kind === 'located'),
  )
}

/** The sources of each piece of data are compared for each place, and for each cluster with data. */
function comparedPrices(
  data: readonly UsedData[],
  names: readonly string[],
  { matrix, clusters }: FleetPrices,
): number {
  const placeOf = (name: string) => matrix.placeOf(clusters(name))
  const targets = new Set(names.map(placeOf)).size + new Set(data.flatMap((piece) => piece.clusters ?? [])).size
  return data.reduce((sum, piece) => sum + targets * new Set(piece.clusters?.map(placeOf)).size, 0)
}
