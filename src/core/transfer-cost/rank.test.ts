import { describe, expect, test } from 'vitest'
import { located, makeCluster, unknown } from '../../../test/builders.ts'
import { randomFrom } from '../../../test/random.ts'
import type { PreferenceFigure } from '../../api/data-source-claim.ts'
import type { Cluster } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { combineClaims } from '../placement/constraint.ts'
import { openTransferMatrix, type TransferLink } from './matrix.ts'
import { type FleetPrices, rankByCost } from './rank.ts'
import { dataOfClaims, openTransferCosts, type UsedData } from './transfer-cost.ts'

const GiB = 2 ** 30

function pricesOf(clusters: readonly Cluster[], links: TransferLink[]): FleetPrices {
  const byName = new Map(clusters.map((cluster) => [cluster.metadata.name ?? '', cluster]))
  const matrix = openTransferMatrix({ links })
  if (!matrix) throw new Error('no links')
  return { matrix, clusters: (name) => byName.get(name), clusterNames: () => [...byName.keys()] }
}

const fleet = [
  makeCluster('paris', { region: 'eu-west-3' }),
  makeCluster('paris2', { region: 'eu-west-3' }),
  makeCluster('ohio', { region: 'us-east-2' }),
  makeCluster('tokyo', { region: 'ap-northeast-1' }),
  makeCluster('rack'),
]
const prices = pricesOf(fleet, [
  { from: { region: 'eu-west-3' }, to: { region: 'eu-west-3' }, pricePerGiB: 0.01, bytesPerSecond: '1Mi' },
  { from: { region: 'eu-west-3' }, to: { region: 'us-east-2' }, pricePerGiB: 0.02, bytesPerSecond: '8Mi' },
  { from: { region: 'eu-west-3' }, to: { region: 'ap-northeast-1' }, pricePerGiB: 0.09, bytesPerSecond: '8Mi' },
])
const sales = (terms: Parameters<typeof located>[1] = {}, where = ['paris']) =>
  located(where, { claim: 'default/sales', enforcement: 'Preferred', bytes: 2 * GiB, ...terms })

test.each<{ name: string; claims: ClaimAnswer[]; prices?: FleetPrices; want: string[][] | undefined }>([
  {
    name: 'Cost tries the cheapest clusters first, and those of equal price together',
    claims: [sales({ preference: 'Cost' })],
    want: [['paris'], ['paris2'], ['ohio'], ['tokyo']],
  },
  {
    name: 'Time tries the fastest clusters first',
    claims: [sales({ preference: 'Time' })],
    want: [['paris'], ['ohio', 'tokyo'], ['paris2']],
  },
  { name: 'Bytes tries the clusters with the data', claims: [sales({ preference: 'Bytes' })], want: [['paris']] },
  { name: 'no preference is Bytes', claims: [sales()], want: [['paris']] },
  {
    name: 'the preference of the first claim by name counts',
    claims: [
      sales({ claim: 'default/b', preference: 'Bytes' }),
      sales({ claim: 'default/a', preference: 'Time', bytes: 1 }, ['ohio']),
      sales({ claim: 'default/0' }),
    ],
    want: [['ohio'], ['paris']],
  },
  {
    name: 'the preference of a Required claim does not count',
    claims: [sales({ claim: 'default/a', enforcement: 'Required', preference: 'Cost' }), sales()],
    want: [['paris']],
  },
  {
    name: 'the cost of Required data does not count',
    claims: [
      sales({ preference: 'Cost' }),
      located(['paris', 'ohio'], { claim: 'default/z', enforcement: 'Required', bytes: 900 * GiB }),
    ],
    want: [['paris'], ['paris2'], ['ohio'], ['tokyo']],
  },
  {
    name: 'no cluster is preferred while no location is known',
    claims: [unknown({ enforcement: 'Preferred', preference: 'Cost' })],
    want: undefined,
  },
  {
    name: 'clusters with data of an unknown size follow those with a known cost',
    claims: [
      sales({ preference: 'Cost' }, ['paris', 'ohio']),
      located(['ohio', 'rack'], { claim: 'default/z', enforcement: 'Preferred' }),
    ],
    want: [['ohio'], ['paris'], ['rack']],
  },
  {
    name: 'a location that is not known leaves the others',
    claims: [sales({ preference: 'Cost' }), unknown({ claim: 'default/z', enforcement: 'Preferred' })],
    want: [['paris'], ['paris2'], ['ohio'], ['tokyo']],
  },
])('$name', ({ claims, want }) => {
  const orders = [claims, claims.toReversed()]
  expect(orders.map((order) => combineClaims(order, prices).preferred)).toEqual([want, want])
})

test.each<{ name: string; other: ClaimAnswer[]; same: boolean }>([
  { name: 'another size', other: [sales({ preference: 'Cost', bytes: 1 })], same: true },
  { name: 'another name of the claim', other: [sales({ preference: 'Cost', claim: 'default/z' })], same: true },
  {
    name: 'a required claim beside it',
    other: [sales({ preference: 'Cost' }), located(['ohio'], { claim: 'default/z', enforcement: 'Required' })],
    same: true,
  },
  { name: 'another cluster', other: [sales({ preference: 'Cost' }, ['ohio'])], same: false },
  { name: 'a further cluster', other: [sales({ preference: 'Cost' }, ['paris', 'ohio'])], same: false },
  { name: 'another figure', other: [sales({ preference: 'Time' })], same: false },
  { name: 'bytes', other: [sales()], same: false },
  {
    name: 'data of a second claim',
    other: [sales({ preference: 'Cost' }), sales({ claim: 'default/z' }, ['ohio'])],
    same: false,
  },
])('a ranking is from the same as one with $name: $same', ({ other, same }) => {
  const digests = [[sales({ preference: 'Cost' })], other, other.toReversed()].map(
    (claims) => combineClaims(claims, undefined).rankedFrom,
  )
  expect(digests.map((digest) => digest === digests[0])).toEqual([true, same, same])
})

test('without prices, Cost and Time are Bytes', () => {
  const preferences: PreferenceFigure[] = ['Cost', 'Time']
  expect(preferences.map((preference) => combineClaims([sales({ preference })], undefined).preferred)).toEqual([
    [['paris']],
    [['paris']],
  ])
})

test('data of an unknown size in a cluster that is gone ranks no cluster by cost', () => {
  const unsized = located(['gone'], { claim: 'default/z', enforcement: 'Preferred', preference: 'Cost' })
  expect(rankByCost([unsized], prices)).toBeUndefined()
})

describe('data in 100 clusters, each at its own place', () => {
  const rank = (count: number) => {
    const many = Array.from({ length: count }, (_, i) => makeCluster(`m${i}`, { region: `r${i}` }))
    const where = many.slice(0, 100).map(({ metadata }) => metadata.name ?? '')
    return rankByCost([sales({ preference: 'Cost' }, where)], pricesOf(many, [{ from: {}, to: {}, pricePerGiB: 1 }]))
  }

  test('is ranked by 100,000 prices, those of 900 clusters', () => {
    expect(rank(900)?.map(({ length }) => length)).toEqual([100, 800])
  })

  test('is ranked by bytes in a larger fleet, which has too many prices', () => {
    expect(rank(901)).toBeUndefined()
  })
})

describe('10,000 generated fleets', () => {
  interface Workload {
    claims: ClaimAnswer[]
    data: UsedData[]
  }

  interface GeneratedFleet {
    prices: FleetPrices
    names: readonly string[]
    workloads: readonly Workload[]
  }

  /** At most 8 clusters in 4 regions, 6 data sets of up to 100 GiB, and 6 workloads with up to 3 of them. */
  function generate(seed: number): GeneratedFleet {
    const random = randomFrom(seed)
    const regions = Array.from({ length: 1 + random.below(4) }, (_, i) => `r${i}`)
    const links = regions.flatMap((from) =>
      regions.map((to) => ({
        from: { region: from },
        to: { region: to },
        pricePerGiB: from === to ? random.below(2) / 100 : random.below(20) / 100,
      })),
    )
    const clusters = Array.from({ length: 2 + random.below(7) }, (_, i) =>
      makeCluster(`m${i}`, { region: random.pick(regions) }),
    )
    const names = clusters.map(({ metadata }) => metadata.name ?? '')
    const sets = Array.from({ length: 1 + random.below(6) }, (_, i) => ({
      name: `set${i}`,
      bytes: (1 + random.below(100)) * GiB,
      where: random.shuffled(names).slice(0, 1 + random.below(2)),
    }))
    const workloads = Array.from({ length: 1 + random.below(6) }, () => {
      const claims = random
        .shuffled(sets)
        .slice(0, 1 + random.below(3))
        .map(({ name, bytes, where }) =>
          located(where, { claim: name, dataSource: name, bytes, enforcement: 'Preferred', preference: 'Cost' }),
        )
      return { claims, data: dataOfClaims(claims) }
    })
    return { prices: pricesOf(clusters, links), names, workloads }
  }

  const costIn = (data: readonly UsedData[], cluster: string, { matrix, clusters }: FleetPrices) =>
    openTransferCosts({ data, clusters, matrix })(cluster).money ?? Number.NaN

  /** The first cluster that Karmada's scheduler tries. */
  const choose = ({ claims }: Workload, { prices: own }: GeneratedFleet) =>
    combineClaims(claims, own).preferred?.[0]?.[0] ?? ''

  /** The cost of a copy of each set in each cluster. */
  const copyCosts = ({ workloads, names, prices: own }: GeneratedFleet): ReadonlyMap<string, readonly number[]> => {
    const sets = new Map(workloads.flatMap(({ data }) => data.map((piece) => [piece.name, piece])))
    return new Map([...sets].map(([name, piece]) => [name, names.map((cluster) => costIn([piece], cluster, own))]))
  }

  /** The cost of a choice of clusters, by their numbers, if data is copied once to each cluster. */
  function costTogether(
    choice: readonly number[],
    { workloads }: GeneratedFleet,
    copies: ReturnType<typeof copyCosts>,
  ) {
    const needed = new Set(workloads.flatMap(({ data }, i) => data.map(({ name }) => `${name} ${choice[i]}`)))
    return [...needed].reduce((sum, key) => {
      const [name = '', cluster] = key.split(' ')
      return sum + (copies.get(name)?.[Number(cluster)] ?? Number.NaN)
    }, 0)
  }

  /** The least cost of every choice of clusters, if data is copied once to each cluster. */
  function optimumTogether({ workloads, names }: GeneratedFleet, copies: ReturnType<typeof copyCosts>): number {
    const sets = [...copies.keys()]
    const costs = [...copies.values()]
    const uses = workloads.map(({ data }) => data.map(({ name }) => sets.indexOf(name)))
    const made = sets.map(() => names.map(() => 0))
    let best = Number.POSITIVE_INFINITY
    const addCopies = (used: readonly number[], cluster: number, by: 1 | -1) => {
      for (const set of used) (made[set] as number[])[cluster] = (made[set]?.[cluster] ?? 0) + by
    }
    const search = (i: number, cost: number): void => {
      const used = uses[i]
      if (cost >= best) return
      if (!used) {
        best = cost
        return
      }
      for (let cluster = 0; cluster < names.length; cluster++) {
        const copied = new Set(used.filter((set) => made[set]?.[cluster] === 0))
        const more = [...copied].reduce((sum, set) => sum + (costs[set]?.[cluster] ?? 0), 0)
        addCopies(used, cluster, 1)
        search(i + 1, cost + more)
        addCopies(used, cluster, -1)
      }
    }
    search(0, 0)
    return best
  }

  const fleets = Array.from({ length: 10_000 }, (_, seed) => generate(seed))
  const chosen = new Map(fleets.flatMap((one) => one.workloads.map((workload) => [workload, choose(workload, one)])))

  test('each workload gets a cluster with the least cost for it', () => {
    const wrong = fleets.flatMap((one, seed) =>
      one.workloads.some((workload) => {
        const { matrix, clusters } = one.prices
        const costOf = openTransferCosts({ data: workload.data, clusters, matrix })
        const least = Math.min(...one.names.map((name) => costOf(name).money ?? Number.NaN))
        return !((costOf(chosen.get(workload) ?? '').money ?? Number.NaN) <= least * 1.05)
      })
        ? [seed]
        : [],
    )
    expect(wrong).toEqual([])
  })

  // A workload is placed without the others, so it does not wait for a copy that another one may bring. See ADR 38.
  test('with data copied once for several workloads, 94 % are within 5 % of the optimum', () => {
    const ratios = fleets.map((one) => {
      const copies = copyCosts(one)
      const choice = one.workloads.map((workload) => one.names.indexOf(chosen.get(workload) ?? ''))
      const [cost, best] = [costTogether(choice, one, copies), optimumTogether(one, copies)]
      return best < 1e-9 ? Number(cost >= 1e-9) + 1 : cost / best
    })
    expect(Math.min(...ratios), 'no choice is better than the optimum').toBeGreaterThan(0.999999)
    expect(ratios.filter((ratio) => ratio <= 1.05).length).toBeGreaterThanOrEqual(9400)
    expect(ratios.reduce((sum, ratio) => sum + ratio, 0) / ratios.length, 'the mean').toBeLessThan(1.04)
    expect(Math.max(...ratios), 'the worst').toBeLessThan(3.01)
  })
})
