/** The price matrix: what a transfer of data between two clusters costs, and how fast it is. It comes from the configuration. */
import type { Cluster } from '../../api/karmada.ts'
import type { FieldError } from '../../base/field-errors.ts'
import { BYTES, parseBytes } from '../../base/quantity.ts'

/** The clusters at one end of a transfer: those with this provider and this region. A field that is absent matches all of them. */
export interface TransferEnd {
  provider?: string
  region?: string
}

/** An entry of the matrix, as the configuration has it. */
export interface TransferLink {
  from: TransferEnd
  to: TransferEnd
  /** In units of the currency. */
  pricePerGiB?: number
  /** An amount of bytes such as `100Mi`. */
  bytesPerSecond?: string
}

/** The matrix, as the configuration and the header of a snapshot have it. */
export interface TransferConfig {
  /** Shown behind amounts of money. */
  currency?: string
  links: readonly TransferLink[]
}

/** Entries of the matrix. Each pair of places is compared with each entry once. */
const MAX_TRANSFER_LINKS = 1000

const place = { type: 'string', minLength: 1, maxLength: 253 }
const end = (which: string): object => ({
  type: 'object',
  description: `The clusters ${which}. Without fields, every cluster.`,
  properties: {
    provider: { ...place, description: 'The `spec.provider` of the Cluster. Default: any.' },
    region: { ...place, description: 'The `spec.region` of the Cluster. Default: any.' },
  } satisfies Record<keyof TransferEnd, object>,
})

const linkProperties: Record<keyof TransferLink, object> = {
  from: end('that have the data'),
  to: end('that get a copy'),
  pricePerGiB: { type: 'number', minimum: 0, maximum: 1_000_000, description: 'In units of `currency`.' },
  bytesPerSecond: {
    type: 'string',
    pattern: BYTES.source,
    errorMessage: 'must be an amount of bytes such as 100Mi',
    description: 'Bandwidth, such as `100Mi`.',
  },
}

export const currencySchema = { type: 'string', minLength: 1, maxLength: 16 }

export const transferLinksSchema = {
  type: 'array',
  maxItems: MAX_TRANSFER_LINKS,
  items: { type: 'object', required: ['from', 'to'], properties: linkProperties },
}

/** Returns the errors in `transferCosts.links` that the schema does not find. */
export function validateTransferLinks(links: readonly TransferLink[]): FieldError[] {
  const first = new Map<string, number>()
  return links.flatMap((link, i): FieldError[] => {
    const path = `transferCosts.links[${i}]`
    if (link.pricePerGiB === undefined && link.bytesPerSecond === undefined)
      return [{ path, code: 'Required', message: 'needs pricePerGiB, bytesPerSecond, or both' }]
    if (link.bytesPerSecond !== undefined && !parseBytes(link.bytesPerSecond))
      return [
        { path: `${path}.bytesPerSecond`, code: 'Invalid', message: 'must be at least 1 byte, and a safe number' },
      ]
    const repeated = FIGURES.filter((figure) => link[figure] !== undefined).flatMap((figure) => {
      const key = JSON.stringify([figure, ...linkEnds(link)])
      const earlier = first.get(key)
      if (earlier === undefined) first.set(key, i)
      return earlier === undefined ? [] : [{ figure, earlier }]
    })
    return repeated.map(({ figure, earlier }) => ({
      path: `${path}.${figure}`,
      code: 'Duplicate',
      message: `has no effect: transferCosts.links[${earlier}] has the same from and to; leave one of them out`,
    }))
  })
}

const FIGURES = ['pricePerGiB', 'bytesPerSecond'] as const

function linkEnds({ from, to }: TransferLink): (string | undefined)[] {
  return [from.provider, from.region, to.provider, to.region]
}

/** Where a cluster is, as far as its Cluster says so. */
export interface Place {
  provider: string | undefined
  region: string | undefined
}

/** The price and the bandwidth between two places; undefined if no entry has it. */
export interface TransferRate {
  pricePerGiB: number | undefined
  bytesPerSecond: number | undefined
}

export interface TransferMatrix {
  currency: string | undefined
  /** Returns the place of a cluster: one object for all clusters at the same place. A cluster that is not known has neither field. */
  placeOf(cluster: Cluster | undefined): Place
  /** Returns for each figure that of the first entry that matches and has it. Takes objects that `placeOf` returned. */
  rateBetween(from: Place, to: Place): TransferRate
}

/** Places, and pairs of them, that are remembered. */
const MAX_REMEMBERED = 100_000

/** Compiles a valid configuration; returns undefined if it has no entries. */
export function openTransferMatrix({ currency, links }: TransferConfig): TransferMatrix | undefined {
  if (links.length === 0) return undefined
  const places = new Map<string, Place>()
  // Cached clusters never change, and a decision asks for the place of each.
  const placeByCluster = new WeakMap<Cluster, Place>()
  const rates = new Map<Place, Map<Place, TransferRate>>()
  let pairs = 0
  return {
    currency,
    placeOf(cluster) {
      const known = cluster && placeByCluster.get(cluster)
      if (known) return known
      const { provider, region } = cluster?.spec ?? {}
      const key = JSON.stringify([provider, region])
      if (places.size >= MAX_REMEMBERED) places.clear()
      const place = remember(places, key, () => ({ provider, region }))
      if (cluster) placeByCluster.set(cluster, place)
      return place
    },
    rateBetween(from, to) {
      if (pairs >= MAX_REMEMBERED) {
        rates.clear()
        pairs = 0
      }
      return remember(
        remember(rates, from, () => new Map()),
        to,
        () => {
          pairs += 1
          return findRate(links, from, to)
        },
      )
    },
  }
}

function remember<Key, Value>(known: Map<Key, Value>, key: Key, make: () => Value): Value {
  const found = known.get(key) ?? make()
  known.set(key, found)
  return found
}

function findRate(links: readonly TransferLink[], from: Place, to: Place): TransferRate {
  const matching = links.filter((link) => isIn(from, link.from) && isIn(to, link.to))
  return {
    pricePerGiB: matching.find(({ pricePerGiB }) => pricePerGiB !== undefined)?.pricePerGiB,
    bytesPerSecond: parseBytes(matching.find((link) => link.bytesPerSecond !== undefined)?.bytesPerSecond ?? ''),
  }
}

function isIn(place: Place, { provider, region }: TransferEnd): boolean {
  return (provider === undefined || provider === place.provider) && (region === undefined || region === place.region)
}
