// The price matrix of some worlds, and a second model of the costs by which preferred clusters are ranked. It shares no code with src.
import type { Random } from '../random.ts'
import { refusalOf } from './accepts.ts'
import { annotatedBaseOf, nameOf, stateOf, viewOf, withAffinities } from './bindings.ts'
import { type AppliedClaim, claimsOf, locate, sizeOf } from './claims.ts'
import { type Binding, isDuplicated, isWorkload, namesOf } from './karmada.ts'
import type { Replica } from './replica.ts'
import { schedule } from './schedule.ts'
import { Violation } from './violation.ts'

// An entry of the configuration. Each cluster of a world with prices is a provider of its own.
export interface PriceLink {
  from: { provider: string }
  to: { provider: string }
  pricePerGiB?: number
  bytesPerSecond?: string
}

export const PREFERENCES = ['Bytes', 'Cost', 'Cost', 'Time', 'Time'] as const

const GIB = 2 ** 30
const SIZES: Record<string, number> = { d1: GIB, d2: 3 * GIB, d3: 5 * GIB }

// The size of data in a world with prices.
export function bytesOf(data: string): number | undefined {
  return SIZES[data]
}

// Prices and bandwidths between all clusters. Some are not known, and some are equal.
export function chooseLinks(names: readonly string[], random: Random): PriceLink[] {
  return names.flatMap((from) =>
    names.flatMap((to) => {
      const figures = {
        ...(random.chance(0.95) && { pricePerGiB: random.below(4) }),
        ...(random.chance(0.95) && { bytesPerSecond: `${1 + random.below(4)}Mi` }),
      }
      const isEmpty = Object.keys(figures).length === 0
      return isEmpty ? [] : [{ from: { provider: from }, to: { provider: to }, ...figures }]
    }),
  )
}

// docs/concepts/claims.md: a workload starts in the cheapest cluster of its policy that can take it, or in the fastest one. Throws Violation.
export function checkCheapestFirst(after: Binding, replica: Replica): void {
  const base = annotatedBaseOf(after)
  const { placement = {}, suspension } = after.spec
  if (!base?.clusterAffinity || stateOf(after) !== 'Narrowed' || suspension?.scheduling === true) return
  // Copies are in every cluster of the policy, and spread constraints may need several.
  if (isDuplicated(placement) || !isWorkload(after) || placement.spreadConstraints) return
  const costs = costsOf(after, replica)
  if (!costs) return
  const clusters = [...replica.clusters.values()]
  const unnarrowed = withAffinities(after, base)
  const accepting = clusters.filter((cluster) => refusalOf(cluster, unnarrowed) === undefined)
  const known = accepting.flatMap(({ metadata }) => costs(metadata.name ?? '') ?? [])
  const result = schedule(after, clusters)
  if (known.length < accepting.length || result.kind !== 'fit') return
  const least = Math.min(...known)
  const dear = namesOf(result.clusters).filter((name) => (costs(name) ?? 0) > least + 1e-9)
  if (dear.length > 0) {
    throw new Violation(
      'cheapest-first',
      `${nameOf(after)}: it starts in ${dear} for ${dear.map(costs)}, although another cluster costs ${least}`,
    )
  }
}

// The cost of each cluster for a workload with preferred data alone; undefined if bytes decide, or if an input is not known.
function costsOf(binding: Binding, replica: Replica): ((cluster: string) => number | undefined) | undefined {
  const view = viewOf(replica)
  const claims = claimsOf(binding, view)
  if (claims.some(({ required, isDeleting }) => required || isDeleting)) return undefined
  const byName = claims.toSorted((a, b) => (nameOf(a.claim) < nameOf(b.claim) ? -1 : 1))
  const preference = byName.flatMap(({ claim }) => claim.spec.policy?.preference ?? [])[0]
  if (preference !== 'Cost' && preference !== 'Time') return undefined
  const data = new Map(byName.map(({ claim }) => [`${claim.spec.system}/${claim.spec.dataSourceName}`, claim]))
  const pieces = [...data.values()].flatMap((claim) => pieceOf(claim, view))
  const isKnown = pieces.every(({ bytes, clusters }) => bytes && clusters.every((name) => replica.clusters.has(name)))
  if (pieces.length === 0 || !isKnown) return undefined
  const unitCost = (from: string, to: string) => {
    const link = replica.links.find((one) => one.from.provider === from && one.to.provider === to)
    const figure = preference === 'Cost' ? link?.pricePerGiB : 1024 / Number.parseInt(link?.bytesPerSecond ?? '', 10)
    return figure === undefined || Number.isNaN(figure) ? Number.POSITIVE_INFINITY : figure
  }
  return (to) => {
    const parts = pieces.map(({ bytes = 0, clusters }) => {
      const least = Math.min(...clusters.map((from) => unitCost(from, to)))
      return clusters.includes(to) ? 0 : (bytes / GIB) * least
    })
    const sum = parts.reduce((total, part) => total + part, 0)
    return Number.isFinite(sum) ? sum : undefined
  }
}

function pieceOf(claim: AppliedClaim['claim'], view: ReturnType<typeof viewOf>) {
  const answer = locate(claim, view)
  return answer.kind === 'located' ? [{ clusters: answer.clusters, bytes: sizeOf(claim, view) }] : []
}
