/** The tables of single losses: for each cluster or source, what happens to the fleet without it. */
import { setImmediate } from 'node:timers/promises'
import { dataSources } from '../../api/data-source.ts'
import { clusters } from '../../api/karmada.ts'
import { addTo } from '../../base/multimap.ts'
import { answerOfSource } from '../../core/data-source/locate.ts'
import { EFFECT_NAMES } from '../../core/what-if/effect.ts'
import type { Answer, AskableFleet } from '../../queries/what-if/ask.ts'
import type { LocatedData } from '../../queries/what-if/world.ts'
import { forEachInSlices } from '../../store/for-each-in-slices.ts'
import type { ObjectStore } from '../../store/store.ts'
import { supposeLost, supposeStale } from './suppose.ts'
import { emptySupposition, type SupposeContext, type Supposed } from './supposed.ts'

export interface TableRow {
  /** The cluster that is lost, or the source whose location is out of date. */
  name: string
  totals: Answer['totals']
  /** The data that is in this cluster only; absent for a source. */
  onlyCopy?: readonly LocatedData[]
}

export interface Table {
  each: 'cluster' | 'source'
  /** The number of workloads that were asked about. */
  workloads: number
  /** The worst first: by the effects in their order, then by data without another copy. */
  rows: readonly TableRow[]
}

/** Questions that are answered together. Each one takes about 200 KiB while it is. */
const TOGETHER = 1000

/** Answers for each cluster or source. Calls `progress` with the done share, from 0 to 1, and throws when the signal of the context aborts. */
export async function tabulate(
  each: Table['each'],
  fleet: AskableFleet,
  context: SupposeContext,
  progress: (share: number) => void = () => undefined,
): Promise<Table> {
  const subjects = each === 'cluster' ? losses(context.store) : outages(context.store)
  const rows: TableRow[] = []
  const { signal } = context
  for (let begin = 0; begin < subjects.length; begin += TOGETHER) {
    const together = subjects.slice(begin, begin + TOGETHER)
    const questions: (Supposed & { row: Omit<TableRow, 'totals'> })[] = []
    await forEachInSlices(together, ({ suppose, ...row }) => {
      const supposed = emptySupposition(context)
      suppose(supposed)
      questions.push({ ...supposed, row })
    })
    const progressed = (done: number, all: number) =>
      progress((begin + (done / all) * together.length) / subjects.length)
    for (const { question, totals } of await fleet.askEach(questions, { signal, progress: progressed }))
      rows.push({ ...question.row, totals })
    progressed(1, 1)
    // Between two runs, other requests are handled, and Ctrl-C is noticed.
    await setImmediate()
    signal.throwIfAborted()
  }
  return { each, workloads: fleet.index.size, rows: rows.sort(byHarm) }
}

type Subject = Omit<TableRow, 'totals'> & { suppose(supposed: Supposed): void }

function losses(store: ObjectStore): Subject[] {
  const onlyCopies = dataWithoutCopy(store)
  return [...store.list(clusters)].map((cluster) => {
    const { name = '' } = cluster.metadata
    return { name, onlyCopy: onlyCopies.get(name) ?? [], suppose: (supposed) => supposeLost(cluster, supposed) }
  })
}

function outages(store: ObjectStore): Subject[] {
  return [...store.list(dataSources)].map((source) => ({
    name: source.metadata.name ?? '',
    suppose: (supposed) => supposeStale(source, supposed),
  }))
}

/** The data that is in one cluster only, by cluster, the largest first. */
function dataWithoutCopy(store: ObjectStore): ReadonlyMap<string, LocatedData[]> {
  const found = new Map<string, LocatedData[]>()
  for (const source of store.list(dataSources)) {
    const answer = answerOfSource(source)
    const [only, second] = answer.kind === 'located' ? answer.clusters : []
    if (answer.kind !== 'located' || only === undefined || second !== undefined) continue
    const data = { source: source.metadata.name ?? '', bytes: answer.bytes }
    addTo(found, only, data)
  }
  for (const data of found.values())
    data.sort((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0) || (a.source < b.source ? -1 : 1))
  return found
}

function byHarm(a: TableRow, b: TableRow): number {
  for (const effect of EFFECT_NAMES) {
    const difference = b.totals[effect].workloads - a.totals[effect].workloads
    if (difference !== 0) return difference
  }
  return (b.onlyCopy?.length ?? 0) - (a.onlyCopy?.length ?? 0) || (a.name < b.name ? -1 : 1)
}
