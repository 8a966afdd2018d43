/** Computes what it costs to run a workload in a cluster: the bytes that are there, and those that are transferred to it. */
import type { ClaimAnswer } from '../data-source/locate.ts'
import type { ClusterLookup } from '../placement/affinity.ts'
import type { Place, TransferMatrix, TransferRate } from './matrix.ts'

/** Data that a workload uses. It is copied once, however many claims name it. */
export interface UsedData {
  /** The name of its DataSource, or of its VolumeManager. */
  name: string
  /** The clusters that have all of it; undefined if its location is not known. */
  clusters: readonly string[] | undefined
  bytes: number | undefined
  /** Whether there are at least this many bytes. */
  bytesAreMinimum: boolean
}

/** A figure that is not known is undefined, and never 0. */
export interface TransferCost {
  localBytes: number | undefined
  transferBytes: number | undefined
  /** In units of the currency. */
  money: number | undefined
  /** Undefined without money. */
  currency: string | undefined
  /** The pieces of data are transferred one after the other. */
  seconds: number | undefined
  /** Whether the figures are the least possible ones: a data system told a minimum. */
  isMinimum: boolean
  /** The names of the unknown inputs, as parts of a sentence. */
  unknown: readonly string[]
}

/** By which figure clusters are compared, and the source of each piece of data is chosen. */
export type CostFigure = 'money' | 'seconds'

export interface CostInput {
  data: readonly UsedData[]
  clusters: ClusterLookup | undefined
  /** Without it, money and seconds are not known. */
  matrix: TransferMatrix | undefined
  /** Default: money. */
  by?: CostFigure
}

const GIB = 2 ** 30

/** Returns the data of claims. Data that several claims name is one piece. */
export function dataOfClaims(claims: readonly ClaimAnswer[]): UsedData[] {
  const byName = new Map<string, UsedData>()
  for (const { claim, dataSource: name = claim, answer } of claims) {
    const isLocated = answer.kind === 'located'
    // A location may be too old for one claim alone.
    if (!isLocated && byName.has(name)) continue
    byName.set(name, {
      name,
      clusters: isLocated ? answer.clusters : undefined,
      bytes: isLocated ? answer.bytes : undefined,
      bytesAreMinimum: isLocated && answer.bytesAreMinimum === true,
    })
  }
  return [...byName.values()]
}

/** A piece of data, with one cluster for each place that has it: equal places have equal rates. */
interface Piece extends UsedData {
  isIn: ReadonlySet<string>
  /** None without a matrix. */
  sources: readonly Source[]
}

interface Source {
  cluster: string
  place: Place
}

/**
 * Returns a function that computes the cost of a cluster. A piece of data that is in several clusters comes from the cheapest one, or from the
 * fastest one. A source without a known figure counts only if none has one.
 */
export function openTransferCosts({ data, clusters, matrix, by = 'money' }: CostInput): (to: string) => TransferCost {
  const pieces = data.map((piece): Piece => {
    const sources = matrix ? distinctSources(piece, matrix, clusters) : []
    return { ...piece, isIn: new Set(piece.clusters), sources }
  })
  const costOf = (cluster: string, place: Place | undefined): TransferCost => {
    const sum = new CostSum()
    for (const piece of pieces) {
      if (piece.isIn.has(cluster)) sum.addLocal(piece)
      else sum.addTransfer(piece, place && matrix && chooseTransfer(piece, { cluster, place }, matrix, by))
    }
    return sum.total(matrix)
  }
  const withData = new Set(data.flatMap(({ clusters: names = [] }) => names))
  const known = new Map<Place | undefined, TransferCost>()
  return (cluster) => {
    const place = matrix?.placeOf(clusters?.(cluster))
    // Clusters without data cost the same at the same place. One whose place is not known is named.
    if (withData.has(cluster) || (place && isUnknown(place))) return costOf(cluster, place)
    const cost = known.get(place) ?? costOf(cluster, place)
    known.set(place, cost)
    return cost
  }
}

function distinctSources(
  { clusters: names = [] }: UsedData,
  matrix: TransferMatrix,
  clusters: ClusterLookup | undefined,
) {
  const byPlace = new Map<Place, Source>()
  for (const cluster of names) {
    const place = matrix.placeOf(clusters?.(cluster))
    if (!byPlace.has(place)) byPlace.set(place, { cluster, place })
  }
  return [...byPlace.values()]
}

interface Transfer {
  from: Source
  to: Source
  rate: TransferRate
}

/** Returns the best transfer by one figure, then by the other one; undefined if the location of the data is not known. */
function chooseTransfer({ sources }: Piece, to: Source, matrix: TransferMatrix, by: CostFigure): Transfer | undefined {
  const [first, second] = by === 'money' ? [price, time] : [time, price]
  let best: Transfer | undefined
  for (const from of sources) {
    const transfer = { from, to, rate: matrix.rateBetween(from.place, to.place) }
    if (!best || (compare(first(transfer), first(best)) || compare(second(transfer), second(best))) < 0) best = transfer
  }
  return best
}

function price({ rate }: Transfer): number {
  return rate.pricePerGiB ?? Number.POSITIVE_INFINITY
}

function time({ rate }: Transfer): number {
  return 1 / (rate.bytesPerSecond ?? 0)
}

/** Returns a comparison of costs: by one figure, then by bytes, then by the other figure. A figure that is not known is last. */
export function costOrder(by: CostFigure): (a: TransferCost, b: TransferCost) => number {
  const other = by === 'money' ? 'seconds' : 'money'
  return (a, b) => compare(a[by], b[by]) || compare(a.transferBytes, b.transferBytes) || compare(a[other], b[other])
}

/** Infinities are equal, and have no difference. */
function compare(a = Number.POSITIVE_INFINITY, b = Number.POSITIVE_INFINITY): number {
  return a === b ? 0 : a - b
}

/** Adds up the figures of pieces of data. A sum with an unknown figure is unknown. */
class CostSum {
  #localBytes: number | undefined = 0
  #transferBytes: number | undefined = 0
  #money: number | undefined = 0
  #seconds: number | undefined = 0
  #isMinimum = false
  readonly #unknown = new Set<string>()

  addLocal({ name, bytes, bytesAreMinimum }: UsedData): void {
    if (bytes === undefined) this.#unknown.add(`the size of ${name}`)
    this.#localBytes = plus(this.#localBytes, bytes)
    this.#isMinimum ||= bytesAreMinimum
  }

  addTransfer({ name, clusters, bytes, bytesAreMinimum }: UsedData, transfer: Transfer | undefined): void {
    this.#isMinimum ||= bytesAreMinimum
    if (clusters === undefined) {
      this.#unknown.add(`the location of ${name}`)
      this.#localBytes = undefined
    } else if (bytes === undefined) this.#unknown.add(`the size of ${name}`)
    this.#transferBytes = plus(this.#transferBytes, clusters && bytes)
    const { pricePerGiB, bytesPerSecond } = transfer?.rate ?? {}
    this.#money = plus(
      this.#money,
      apply((size, perGiB) => (size / GIB) * perGiB, bytes, pricePerGiB),
    )
    this.#seconds = plus(
      this.#seconds,
      apply((size, perSecond) => size / perSecond, bytes, bytesPerSecond),
    )
    if (transfer && pricePerGiB === undefined) this.#unknown.add(`the price ${between(transfer)}`)
    if (transfer && bytesPerSecond === undefined) this.#unknown.add(`the bandwidth ${between(transfer)}`)
  }

  total(matrix: TransferMatrix | undefined): TransferCost {
    const money = matrix && this.#money
    return {
      localBytes: this.#localBytes,
      transferBytes: this.#transferBytes,
      money,
      currency: money === undefined ? undefined : matrix?.currency,
      seconds: matrix && this.#seconds,
      isMinimum: this.#isMinimum,
      unknown: [...this.#unknown],
    }
  }
}

function plus(sum: number | undefined, more: number | undefined): number | undefined {
  return apply((one, other) => one + other, sum, more)
}

/** Applies an operation; undefined if one of the numbers is not known. */
function apply(operation: (a: number, b: number) => number, a: number | undefined, b: number | undefined) {
  return a === undefined || b === undefined ? undefined : operation(a, b)
}

function between({ from, to }: Transfer): string {
  return `from ${describePlace(from)} to ${describePlace(to)}`
}

function isUnknown({ provider, region }: Place): boolean {
  return provider === undefined && region === undefined
}

/** A cluster without a provider and a region is named. */
function describePlace({ cluster, place: { provider, region } }: Source): string {
  const parts = [provider, region].filter((part) => part !== undefined)
  return parts.length > 0 ? parts.join(' ') : `${cluster} (without provider and region)`
}
