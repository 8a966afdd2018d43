import { describe, expect, test } from 'vitest'
import { located, lookup, makeCluster, nowhere, unknown } from '../../../test/builders.ts'
import { listDigest } from '../../base/hash.ts'
import type { ClaimAnswer } from '../data-source/locate.ts'
import { openTransferMatrix } from '../transfer-cost/matrix.ts'
import { combineClaims, type DataConstraint, demandsSame } from './constraint.ts'
import { MAX_PREFERRED_CLUSTERS, MAX_TIERS } from './limits.ts'

const preferredTerms = { enforcement: 'Preferred' as const }

test.each<{ name: string; claims: ClaimAnswer[]; want: DataConstraint }>([
  { name: 'no claim demands nothing', claims: [], want: {} },
  { name: 'a required claim demands its clusters', claims: [located(['c2', 'c1'])], want: { required: ['c1', 'c2'] } },
  {
    name: 'required claims intersect',
    claims: [located(['c1', 'c2']), located(['c2', 'c3'])],
    want: { required: ['c2'] },
  },
  {
    name: 'a cluster that only some of the required claims have is not demanded',
    claims: [located(['c1', 'c2', 'c3']), located(['c1', 'c2']), located(['c2', 'c3'])],
    want: { required: ['c2'] },
  },
  {
    name: 'required claims that share no cluster demand an empty set',
    claims: [located(['c1']), located(['c2'])],
    want: { required: [] },
  },
  {
    name: 'claims without a location demand nothing',
    claims: [unknown(), nowhere(), located(['c1'])],
    want: { required: ['c1'] },
  },
  {
    name: 'preferred claims never restrict',
    claims: [located(['c1']), located(['c2'], preferredTerms)],
    want: { required: ['c1'], preferred: [['c2']] },
  },
  {
    name: 'the cluster with the most bytes comes first',
    claims: [located(['c1'], { ...preferredTerms, bytes: 10 }), located(['c2'], { ...preferredTerms, bytes: 20 })],
    want: { preferred: [['c2'], ['c1']] },
  },
  {
    name: 'bytes of several claims add up',
    claims: [
      located(['c1'], { ...preferredTerms, bytes: 15 }),
      located(['c2', 'c3'], { ...preferredTerms, bytes: 10 }),
      located(['c2'], { ...preferredTerms, bytes: 10 }),
    ],
    want: { preferred: [['c2'], ['c1'], ['c3']] },
  },
  {
    name: 'without bytes, the number of claims counts',
    claims: [located(['c1', 'c2'], preferredTerms), located(['c2'], preferredTerms)],
    want: { preferred: [['c2'], ['c1']] },
  },
  {
    name: 'equal clusters share a tier, sorted',
    claims: [located(['c3', 'c1', 'c2'], { ...preferredTerms, bytes: 10 })],
    want: { preferred: [['c1', 'c2', 'c3']] },
  },
])('$name', ({ claims, want }) => {
  expect([combineClaims(claims, undefined), combineClaims(claims.toReversed(), undefined)]).toEqual([want, want])
})

test('the clusters of a single required claim are shared, with their compiled form', () => {
  const clusters = ['c1', 'c2']
  const claim: ClaimAnswer = { ...located([]), answer: { kind: 'located', clusters, bytes: undefined } }
  expect(combineClaims([claim], undefined).required).toBe(clusters)
})

describe('more preferred clusters than the limit', () => {
  const names = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `c${from + i}`)

  test('of one claim are cut', () => {
    const { preferred = [] } = combineClaims(
      [located(names(1000, 1001 + MAX_PREFERRED_CLUSTERS), preferredTerms)],
      undefined,
    )
    expect(preferred).toEqual([names(1000, 1000 + MAX_PREFERRED_CLUSTERS)])
  })

  test('of several claims with equal bytes are cut by name', () => {
    const [one, other] = [names(1000, 1500), names(1500, 1001 + MAX_PREFERRED_CLUSTERS)]
    const claims = [located(one, preferredTerms), located(other, preferredTerms)]
    const want = [names(1000, 1000 + MAX_PREFERRED_CLUSTERS)]
    expect(combineClaims(claims, undefined).preferred).toEqual(want)
    expect(combineClaims(claims.toReversed(), undefined).preferred).toEqual(want)
  })
})

describe('clusters that are ranked by cost', () => {
  const inRegion = (count: number) =>
    Array.from({ length: count }, (_, i) => makeCluster(`c${1000 + i}`, { region: `r${i}` }))

  /** The tiers for data in the first cluster. Each other cluster costs more than the one before it. */
  function tiersOf(count: number, claims: ClaimAnswer[]) {
    const fleet = inRegion(count)
    const links = fleet.map((_, i) => ({ from: { region: 'r0' }, to: { region: `r${i}` }, pricePerGiB: i }))
    const matrix = openTransferMatrix({ links })
    if (!matrix) throw new Error('no links')
    const names = fleet.map(({ metadata }) => metadata.name ?? '')
    return combineClaims(claims, { matrix, clusters: lookup(...fleet), clusterNames: () => names }).preferred
  }
  const sales = located(['c1000'], { ...preferredTerms, preference: 'Cost', bytes: 2 ** 30 })

  test('share the last tier beyond the limit of tiers', () => {
    const tiers = tiersOf(MAX_TIERS + 2, [sales]) ?? []
    expect(tiers.slice(0, 2)).toEqual([['c1000'], ['c1001']])
    expect([tiers.length, tiers.at(-1)]).toEqual([MAX_TIERS, ['c1015', 'c1016', 'c1017']])
  })

  test('are not repeated by the tiers of bytes, which leave no empty one', () => {
    expect(tiersOf(3, [sales])).toEqual([['c1000'], ['c1001'], ['c1002']])
    expect(tiersOf(1, [sales])).toEqual([['c1000']])
  })

  test('have a tier each up to the limit of tiers', () => {
    expect(tiersOf(MAX_TIERS, [sales])?.map(({ length }) => length)).toEqual(Array(MAX_TIERS).fill(1))
  })

  test('are followed by clusters without a known cost that have some of the data', () => {
    const orders = located(['c1002', 'elsewhere'], { ...preferredTerms, claim: 'default/orders', bytes: 1 })
    expect(tiersOf(3, [sales, orders])).toEqual([['c1002'], ['c1000'], ['elsewhere']])
  })

  test('are limited in total', () => {
    expect(tiersOf(MAX_PREFERRED_CLUSTERS + 5, [sales])?.flat()).toHaveLength(MAX_PREFERRED_CLUSTERS)
  })
})

const requiredDigest = listDigest(['c1', 'c2'])

test.each<{ name: string; one: DataConstraint; other: DataConstraint; want: boolean }>([
  { name: 'absent constraints are equal', one: {}, other: {}, want: true },
  { name: 'equal lists are equal', one: { required: ['c1'] }, other: { required: ['c1'] }, want: true },
  { name: 'different lists are not equal', one: { required: ['c1'] }, other: { required: ['c2'] }, want: false },
  {
    name: 'different preferences are not equal',
    one: { required: ['c1'], preferred: [['c1'], ['c2']] },
    other: { required: ['c1'], preferred: [['c2'], ['c1']] },
    want: false,
  },
  {
    name: 'partial lists with the same digest are equal',
    one: { required: ['c1'], requiredDigest },
    other: { required: ['c2'], requiredDigest },
    want: true,
  },
  {
    name: 'a partial list with the digest of a whole list is equal to that list',
    one: { required: ['c1'], requiredDigest },
    other: { required: ['c1', 'c2'] },
    want: true,
  },
  {
    name: 'a partial list with another digest is not equal to an equal list',
    one: { required: ['c1'], requiredDigest },
    other: { required: ['c1'] },
    want: false,
  },
  {
    name: 'a digest is not equal to an absent constraint',
    one: { required: ['c1'], requiredDigest },
    other: {},
    want: false,
  },
])('compared with each other, $name', ({ one, other, want }) => {
  expect([demandsSame(one, other), demandsSame(other, one)]).toEqual([want, want])
})
