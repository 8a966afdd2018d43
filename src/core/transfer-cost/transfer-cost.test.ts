import { expect, test } from 'vitest'
import { located, lookup, makeCluster, nowhere, unknown } from '../../../test/builders.ts'
import { openTransferMatrix, type TransferConfig } from './matrix.ts'
import {
  type CostFigure,
  costOrder,
  dataOfClaims,
  openTransferCosts,
  type TransferCost,
  type UsedData,
} from './transfer-cost.ts'

const GiB = 2 ** 30
const clusters = lookup(
  makeCluster('paris', { provider: 'aws', region: 'eu-west-3' }),
  makeCluster('paris2', { provider: 'aws', region: 'eu-west-3' }),
  makeCluster('ohio', { provider: 'aws', region: 'us-east-2' }),
  makeCluster('azure', { provider: 'azure', region: 'westeurope' }),
  'rack',
)
const prices: TransferConfig = {
  links: [
    { from: { region: 'eu-west-3' }, to: { region: 'eu-west-3' }, pricePerGiB: 0, bytesPerSecond: '1Gi' },
    { from: { provider: 'aws' }, to: { provider: 'aws' }, pricePerGiB: 0.02, bytesPerSecond: '64Mi' },
    { from: { provider: 'azure' }, to: { provider: 'aws' }, pricePerGiB: 0.08, bytesPerSecond: '256Mi' },
    { from: { provider: 'aws' }, to: { provider: 'azure' }, pricePerGiB: 0.09 },
  ],
}
const matrix = openTransferMatrix(prices)

const piece = (name: string, where: string[] | undefined, bytes?: number): UsedData => ({
  name,
  clusters: where,
  bytes,
  bytesAreMinimum: false,
})
const known = { isMinimum: false, unknown: [] }

test.each<{ name: string; data: UsedData[]; to: string; by?: CostFigure; want: Partial<TransferCost> }>([
  {
    name: 'data that is there costs nothing',
    data: [piece('sales', ['paris', 'ohio'], 5 * GiB)],
    to: 'ohio',
    want: { localBytes: 5 * GiB, transferBytes: 0, money: 0, seconds: 0, ...known },
  },
  {
    name: 'data that is elsewhere is transferred',
    data: [piece('sales', ['paris'], 5 * GiB), piece('orders', ['ohio'], 2 * GiB)],
    to: 'ohio',
    want: { localBytes: 2 * GiB, transferBytes: 5 * GiB, money: 0.1, seconds: 80, ...known },
  },
  {
    name: 'of several sources, the cheapest counts',
    data: [piece('sales', ['azure', 'paris'], GiB)],
    to: 'ohio',
    want: { money: 0.02, seconds: 16, ...known },
  },
  {
    name: 'of several sources, the fastest counts if time matters',
    data: [piece('sales', ['azure', 'paris'], GiB)],
    to: 'ohio',
    by: 'seconds',
    want: { money: 0.08, seconds: 4, ...known },
  },
  {
    name: 'a transfer in the same region is not local',
    data: [piece('sales', ['paris'], GiB)],
    to: 'paris2',
    want: { localBytes: 0, transferBytes: GiB, money: 0, seconds: 1, ...known },
  },
  {
    name: 'a size that is not known makes the sums unknown',
    data: [piece('sales', ['paris'], GiB), piece('orders', ['paris'])],
    to: 'ohio',
    want: {
      localBytes: 0,
      transferBytes: undefined,
      money: undefined,
      seconds: undefined,
      unknown: ['the size of orders'],
    },
  },
  {
    name: 'a local size that is not known leaves the transfer known',
    data: [piece('sales', ['paris'], GiB), piece('orders', ['ohio'])],
    to: 'ohio',
    want: { localBytes: undefined, transferBytes: GiB, money: 0.02, seconds: 16, unknown: ['the size of orders'] },
  },
  {
    name: 'a pair without a bandwidth is named',
    data: [piece('sales', ['paris'], 100 * GiB)],
    to: 'azure',
    want: { money: 9, seconds: undefined, unknown: ['the bandwidth from aws eu-west-3 to azure westeurope'] },
  },
  {
    name: 'a cluster without a place is named',
    data: [piece('sales', ['rack'], GiB)],
    to: 'paris',
    want: {
      transferBytes: GiB,
      money: undefined,
      seconds: undefined,
      unknown: [
        'the price from rack (without provider and region) to aws eu-west-3',
        'the bandwidth from rack (without provider and region) to aws eu-west-3',
      ],
    },
  },
  {
    name: 'a source with a known price precedes one without',
    data: [piece('sales', ['rack', 'azure'], GiB)],
    to: 'paris',
    want: { money: 0.08, seconds: 4, ...known },
  },
  {
    name: 'a location that is not known makes all figures unknown',
    data: [piece('sales', undefined)],
    to: 'paris',
    want: {
      localBytes: undefined,
      transferBytes: undefined,
      money: undefined,
      seconds: undefined,
      unknown: ['the location of sales'],
    },
  },
  {
    name: 'no data costs nothing',
    data: [],
    to: 'paris',
    want: { localBytes: 0, transferBytes: 0, money: 0, seconds: 0, ...known },
  },
])('the cost of a cluster: $name', ({ data, to, by, want }) => {
  const costs = openTransferCosts({ data, clusters, matrix, ...(by && { by }) })
  expect(costs(to)).toMatchObject(want)
  const reversed = data
    .toReversed()
    .map((one) => ({ ...one, ...(one.clusters && { clusters: one.clusters.toReversed() }) }))
  expect(openTransferCosts({ data: reversed, clusters, matrix, ...(by && { by }) })(to)).toMatchObject(want)
})

test('without a matrix, only bytes are known', () => {
  const costs = openTransferCosts({ data: [piece('sales', ['paris'], GiB)], clusters, matrix: undefined })
  expect(costs('ohio')).toEqual({
    localBytes: 0,
    transferBytes: GiB,
    money: undefined,
    currency: undefined,
    seconds: undefined,
    ...known,
  })
})

test('data that several claims name is one piece', () => {
  const sales = { dataSource: 'table-sales', bytes: 5 }
  const claims = [
    located(['paris'], { claim: 'default/a', ...sales }),
    located(['paris'], { claim: 'default/b', ...sales }),
    located(['ohio'], { claim: 'VolumeManager default/w', bytes: 3 }),
    unknown({ claim: 'default/c' }),
    nowhere({ claim: 'default/d' }),
  ]
  expect(dataOfClaims(claims)).toEqual([
    piece('table-sales', ['paris'], 5),
    piece('VolumeManager default/w', ['ohio'], 3),
    piece('default/c', undefined),
    piece('default/d', undefined),
  ])
})

test('data that is too old for one of two claims is where the other one finds it', () => {
  const fresh = located(['paris'], { claim: 'default/a', dataSource: 'table-sales', bytes: 5 })
  const stale = unknown({ claim: 'default/b', dataSource: 'table-sales' })
  const want = [piece('table-sales', ['paris'], 5)]
  expect([dataOfClaims([fresh, stale]), dataOfClaims([stale, fresh])]).toEqual([want, want])
})

test('a size that is a minimum makes the figures minimums', () => {
  const [claim] = [located(['paris'], { bytes: 7 })]
  const answer = { kind: 'located', clusters: ['paris'], bytes: 7, bytesAreMinimum: true } as const
  const data = dataOfClaims([{ ...claim, answer } as Parameters<typeof dataOfClaims>[0][number]])
  expect(openTransferCosts({ data, clusters, matrix })('ohio').isMinimum).toBe(true)
})

test('the size of local data that is a minimum makes the figures minimums', () => {
  const data = [{ ...piece('sales', ['paris'], 7), bytesAreMinimum: true }, piece('orders', ['paris'], 1)]
  const costs = openTransferCosts({ data, clusters, matrix })
  expect([costs('paris').isMinimum, costs('paris2').isMinimum]).toEqual([true, true])
})

test('money has the currency of the matrix, and no currency without an amount', () => {
  const costs = openTransferCosts({
    data: [piece('sales', ['paris'], GiB)],
    clusters,
    matrix: openTransferMatrix({ ...prices, currency: 'EUR' }),
  })
  expect(costs('ohio')).toMatchObject({ money: 0.02, currency: 'EUR' })
  expect(costs('rack')).toMatchObject({ money: undefined, currency: undefined })
})

test('each cluster without a place is named, whichever was asked before', () => {
  const many = lookup(makeCluster('paris', { provider: 'aws', region: 'eu-west-3' }), 'rack', 'shelf')
  const costs = openTransferCosts({ data: [piece('sales', ['paris'], GiB)], clusters: many, matrix })
  const named = (cluster: string) => `from aws eu-west-3 to ${cluster} (without provider and region)`
  expect(['paris', 'rack', 'shelf'].map((cluster) => costs(cluster).unknown)).toEqual([
    [],
    [`the price ${named('rack')}`, `the bandwidth ${named('rack')}`],
    [`the price ${named('shelf')}`, `the bandwidth ${named('shelf')}`],
  ])
})

test.each<{ name: string; spec: object; where: string }>([
  { name: 'only a provider', spec: { provider: 'aws' }, where: 'aws' },
  { name: 'only a region', spec: { region: 'north' }, where: 'north' },
])('clusters with $name are at the same place, which is named', ({ spec, where }) => {
  const same = lookup(makeCluster('a', spec), makeCluster('b', spec), makeCluster('azure', { provider: 'azure' }))
  const costs = openTransferCosts({
    data: [piece('sales', ['azure'], GiB)],
    clusters: same,
    matrix: openTransferMatrix({ links: [{ from: { region: 'x' }, to: {}, pricePerGiB: 1 }] }),
  })
  expect(costs('a').unknown).toEqual([`the price from azure to ${where}`, `the bandwidth from azure to ${where}`])
  expect(costs('b')).toBe(costs('a'))
})

test('without Clusters, no place is known', () => {
  const costs = openTransferCosts({ data: [piece('sales', ['paris'], GiB)], clusters: undefined, matrix })
  const ends = 'from paris (without provider and region) to ohio (without provider and region)'
  expect(costs('ohio').unknown).toEqual([`the price ${ends}`, `the bandwidth ${ends}`])
})

test.each<{ name: string; costs: Partial<TransferCost>[] }>([
  {
    name: 'less money',
    costs: [
      { money: 1, transferBytes: 9 },
      { money: 2, transferBytes: 1 },
    ],
  },
  { name: 'known money', costs: [{ money: 9, transferBytes: 9 }, { transferBytes: 1 }] },
  {
    name: 'less bytes for the same money',
    costs: [
      { money: 1, transferBytes: 1, seconds: 9 },
      { money: 1, transferBytes: 2, seconds: 1 },
    ],
  },
  {
    name: 'less bytes if no money is known',
    costs: [
      { transferBytes: 1, seconds: 9 },
      { transferBytes: 2, seconds: 1 },
    ],
  },
  {
    name: 'less time for the same money and bytes',
    costs: [
      { money: 1, transferBytes: 1, seconds: 1 },
      { money: 1, transferBytes: 1, seconds: 2 },
    ],
  },
  { name: 'less time if nothing else is known', costs: [{ seconds: 1 }, { seconds: 2 }, {}] },
])('costs are in the order of $name', ({ costs }) => {
  const full = costs.map(
    (cost): TransferCost => ({
      localBytes: 0,
      transferBytes: undefined,
      money: undefined,
      currency: undefined,
      seconds: undefined,
      ...known,
      ...cost,
    }),
  )
  expect(full.toReversed().sort(costOrder('money'))).toEqual(full)
})

test('costs are in the order of time first for a preference of Time', () => {
  const costs: Pick<TransferCost, 'seconds' | 'transferBytes' | 'money'>[] = [
    { seconds: 1, transferBytes: 9, money: 9 },
    { seconds: 2, transferBytes: 1, money: 2 },
    { seconds: 2, transferBytes: 1, money: 3 },
    { seconds: undefined, transferBytes: 1, money: 1 },
  ]
  const full = costs.map((cost): TransferCost => ({ localBytes: 0, currency: undefined, ...known, ...cost }))
  expect(full.toReversed().sort(costOrder('seconds'))).toEqual(full)
})
