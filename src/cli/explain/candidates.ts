/** Lines about the clusters in which a workload may run: the cost of its data there, and what excludes each of them. */
import { clusters } from '../../api/karmada.ts'
import { apiVersionOf } from '../../api/meta.ts'
import { configuredTransferMatrix } from '../../app/config/transfer-costs-config.ts'
import type { ClaimAnswer } from '../../core/data-source/locate.ts'
import { rankedFigure } from '../../core/transfer-cost/rank.ts'
import {
  costOrder,
  dataOfClaims,
  openTransferCosts,
  type TransferCost,
} from '../../core/transfer-cost/transfer-cost.ts'
import { describeCost } from '../transfer-words.ts'
import { candidateNames, dataExclusions, exclusionsOf } from './exclusions.ts'
import type { Placed } from './placed.ts'
import type { Context } from './target.ts'
import type { TreeNode } from './tree.ts'

/** Clusters that are shown, the best first. */
const MAX_CANDIDATES = 20

/** A cluster with its cost. */
interface Candidate {
  name: string
  cost: TransferCost
  excludedBy: readonly string[]
}

/**
 * The clusters of a workload with located data: first those that nothing excludes, then by money, bytes and time. A preference of Time puts
 * time first. Text shows them by default only with a price matrix.
 */
export function candidateNodes(placed: Placed, context: Context): TreeNode[] {
  const claims = placed.placement?.input.claims ?? []
  if (!claims.some(({ answer }) => answer.kind === 'located')) return []
  const { store, config } = context
  const matrix = configuredTransferMatrix(config)
  const costOf = costsOfClaims(claims, context)
  const [excludedBy, lacking] = [exclusionsOf(placed, context), dataExclusions(claims)]
  const candidates = candidateNames(claims, store)
    .map((name): Candidate => ({ name, cost: costOf(name), excludedBy: [...excludedBy(name), ...lacking(name)] }))
    .sort(byMerit(claims))
  const children = candidates.slice(0, MAX_CANDIDATES).map(({ name, cost, excludedBy: reasons }): TreeNode => {
    const excluded = reasons.length > 0 ? `; excluded: ${reasons.join('; ')}` : ''
    return {
      text: `${name}: ${describeCost(cost, matrix !== undefined)}${excluded}`,
      apiVersion: apiVersionOf(clusters),
      kind: clusters.kind,
      name,
      state: reasons.length > 0 ? 'Excluded' : 'Possible',
      transfer: cost,
      excludedBy: reasons,
    }
  })
  const more = candidates.length - children.length
  const others = more > 0 ? [{ text: `and ${more.toLocaleString('en')} more` }] : []
  return [{ text: 'candidate clusters', isDetail: !matrix, children: [...children, ...others] }]
}

/** Returns the cost of bringing the data of claims to a cluster; without a price matrix, it has no money and no time. */
export function costsOfClaims(
  claims: readonly ClaimAnswer[],
  { store, config }: Pick<Context, 'store' | 'config'>,
): (cluster: string) => TransferCost {
  return openTransferCosts({
    data: dataOfClaims(claims),
    clusters: (name) => store.get(clusters, undefined, name),
    matrix: configuredTransferMatrix(config),
    by: rankedFigure(claims) ?? 'money',
  })
}

function byMerit(claims: readonly ClaimAnswer[]): (a: Candidate, b: Candidate) => number {
  const byCost = costOrder(rankedFigure(claims) ?? 'money')
  return (a, b) => {
    const excluded = Number(a.excludedBy.length > 0) - Number(b.excludedBy.length > 0)
    return excluded || byCost(a.cost, b.cost) || (a.name < b.name ? -1 : 1)
  }
}
