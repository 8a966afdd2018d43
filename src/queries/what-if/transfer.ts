/** What it costs to bring the data of workloads to the clusters to which they go. */
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import { clusters } from '../../api/karmada.ts'
import { rankedFigure } from '../../core/transfer-cost/rank.ts'
import {
  type CostFigure,
  costOrder,
  dataOfClaims,
  openTransferCosts,
  type TransferCost,
  type UsedData,
} from '../../core/transfer-cost/transfer-cost.ts'
import { type Change, EFFECT_NAMES, type Effect } from '../../core/what-if/effect.ts'
import { objectBinding } from '../workload.ts'
import { gatherDecisionInput, type World } from './world.ts'

/** The cost of a cluster to which a workload may go. */
export interface CandidateCost extends TransferCost {
  cluster: string
}

/** The clusters to which a workload goes, the cheapest first, or the fastest with a preference of Time. */
export interface WorkloadTransfer {
  candidates: readonly CandidateCost[]
  /** The number of further clusters. */
  more: number
}

/** The transfers for the workloads of an effect. Data that several of them use is copied once to each cluster. */
export interface TransferTotal {
  /** Undefined if a size is not known. */
  bytes: number | undefined
  /** Undefined if a price is not known, or without a price matrix. */
  money: number | undefined
  currency: string | undefined
  /** Workloads with data that may go to one of several clusters: they are not in the sums. */
  undecided: number
}

/** A workload of an answer, without its transfer. */
interface AnsweredWorkload extends Change {
  workload: WorkloadReference
}

/** Candidates that an answer has for each workload. */
const MAX_CANDIDATES = 20

/** Adds the transfers to an answer. A workload without data, and one that goes nowhere, has none. */
export function withTransfers<Workload extends AnsweredWorkload, Total extends object>(
  answer: { changes: readonly Workload[]; totals: Readonly<Record<Effect, Total>> },
  world: World,
): {
  changes: (Workload & { transfer?: WorkloadTransfer })[]
  totals: Record<Effect, Total & { transfer?: TransferTotal }>
} {
  const { store, matrix } = world
  const lookup = (name: string) => store.get(clusters, undefined, name)
  const costsOf = (data: readonly UsedData[], by: CostFigure) =>
    openTransferCosts({ data, clusters: lookup, matrix, by })
  const sums = new Map<Effect, EffectSum>()
  const changes = answer.changes.map((change) => {
    const { data, by } = change.to.length > 0 ? workloadData(change, world) : NO_DATA
    if (data.length === 0) return change
    const sum = sums.get(change.effect) ?? { undecided: 0, copies: new Map() }
    sums.set(change.effect, sum)
    addTo(sum, change, data, by)
    return { ...change, transfer: workloadTransfer(change, costsOf(data, by), by) }
  })
  const totalWith = (effect: Effect) => {
    const sum = sums.get(effect)
    return { ...answer.totals[effect], ...(sum && { transfer: transferTotal(sum, costsOf, matrix) }) }
  }
  const totals = Object.fromEntries(EFFECT_NAMES.map((effect) => [effect, totalWith(effect)]))
  return { changes, totals: totals as Record<Effect, ReturnType<typeof totalWith>> }
}

function workloadTransfer(
  { to }: AnsweredWorkload,
  costOf: (cluster: string) => TransferCost,
  by: CostFigure,
): WorkloadTransfer {
  const byCost = costOrder(by)
  const candidates = to
    .map((cluster): CandidateCost => ({ cluster, ...costOf(cluster) }))
    .sort((a, b) => byCost(a, b) || (a.cluster < b.cluster ? -1 : 1))
  const shown = candidates.slice(0, MAX_CANDIDATES)
  return { candidates: shown, more: candidates.length - shown.length }
}

interface EffectSum {
  undecided: number
  /** The data that each cluster gets, by name. */
  copies: Map<string, Map<string, Copy>>
}

/** It comes from the fastest source if one of its workloads prefers that. */
interface Copy {
  piece: UsedData
  by: CostFigure
}

function addTo(sum: EffectSum, { to, takesAll }: AnsweredWorkload, data: readonly UsedData[], by: CostFigure): void {
  if (to.length > 1 && !takesAll) {
    sum.undecided += 1
    return
  }
  for (const cluster of to) {
    const copies = sum.copies.get(cluster) ?? new Map<string, Copy>()
    for (const piece of data)
      copies.set(piece.name, { piece, by: copies.get(piece.name)?.by === 'seconds' ? 'seconds' : by })
    sum.copies.set(cluster, copies)
  }
}

function transferTotal(
  { undecided, copies }: EffectSum,
  costsOf: (data: readonly UsedData[], by: CostFigure) => (cluster: string) => TransferCost,
  matrix: World['matrix'],
): TransferTotal {
  const costs = [...copies].flatMap(([cluster, data]) =>
    (['money', 'seconds'] as const).map((figure) => {
      const pieces = [...data.values()].filter(({ by }) => by === figure).map(({ piece }) => piece)
      return costsOf(pieces, figure)(cluster)
    }),
  )
  return {
    bytes: total(costs.map(({ transferBytes }) => transferBytes)),
    money: matrix && total(costs.map(({ money }) => money)),
    currency: matrix?.currency,
    undecided,
  }
}

function total(figures: readonly (number | undefined)[]): number | undefined {
  return figures.reduce<number | undefined>(
    (sum, figure) => (sum === undefined || figure === undefined ? undefined : sum + figure),
    0,
  )
}

interface RankedData {
  data: readonly UsedData[]
  by: CostFigure
}

const NO_DATA: RankedData = { data: [], by: 'money' }

/** The data of a workload, as its decision sees it, and the figure by which it ranks clusters. */
function workloadData({ workload }: AnsweredWorkload, world: World): RankedData {
  const binding = objectBinding(workload, world.store)
  if (!binding) return NO_DATA
  const { claims } = gatherDecisionInput(binding, binding, world)
  return { data: dataOfClaims(claims), by: rankedFigure(claims) ?? 'money' }
}
