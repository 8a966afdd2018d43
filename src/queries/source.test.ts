import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { type DataSource, dataSources } from '../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims } from '../api/data-source-claim.ts'
import { defined } from '../base/json.ts'
import { claimSource, claimsConcerned, sourceNamesOfChange } from './source.ts'

describe('of several DataSources for one query, created in any order', () => {
  const sources = ['b', 'amoro-table-lake.shop.sales', 'a', 'c'].map((name) => makeSource({}, { name }))
  const answering = async (claim = makeClaim(), without = '') => {
    const names = [sources, sources.toReversed()].map(async (order) => {
      const store = await storeOf(order.filter(({ metadata }) => metadata.name !== without))
      return claimSource(claim, store)?.metadata.name
    })
    return Promise.all(names)
  }

  test('the one with the name that Lodestone generates is used', async () => {
    expect(await answering()).toEqual(['amoro-table-lake.shop.sales', 'amoro-table-lake.shop.sales'])
  })

  test('otherwise the one with the lowest name is used', async () => {
    expect(await answering(makeClaim(), 'amoro-table-lake.shop.sales')).toEqual(['a', 'a'])
  })

  test('a bound claim stays bound to its source', async () => {
    const bound = { ...makeClaim(), status: { boundDataSource: 'c' } }
    expect(await answering(bound)).toEqual(['c', 'c'])
  })
})

describe('a change of a source', () => {
  const before: DataSource = {
    ...makeSource(),
    status: { phase: 'Available', lastResolvedTime: '2026-11-20T00:00:00Z' },
  }
  const confirmed = { phase: 'Available', lastResolvedTime: '2026-11-20T00:05:00Z' } as const

  test.each<{ change: string; after: Partial<DataSource> | undefined; concerns: string[] }>([
    { change: 'a confirmation', after: { status: confirmed }, concerns: ['limited'] },
    {
      change: 'one more claim',
      after: { status: { ...confirmed, boundClaims: 9, claimRefs: [] } },
      concerns: ['limited'],
    },
    { change: 'a new phase', after: { status: { ...confirmed, phase: 'Unavailable' } }, concerns: ['any', 'limited'] },
    {
      change: 'a new location',
      after: { spec: { ...before.spec, locality: { clusterNames: ['member9'] } }, status: confirmed },
      concerns: ['any', 'limited'],
    },
    {
      change: 'a new annotation',
      after: { metadata: { name: 'a', annotations: { a: 'b' } } },
      concerns: ['any', 'limited'],
    },
    {
      change: 'another query',
      after: { spec: { ...before.spec, name: 'other' } },
      concerns: ['any', 'limited', 'other'],
    },
    { change: 'the deletion', after: undefined, concerns: ['any', 'limited'] },
  ])('concerns $concerns, if it is $change', async ({ after, concerns }) => {
    const store = await storeOf([
      makeClaim({}, { name: 'any' }),
      makeClaim({ policy: { maxStalenessSeconds: 600 } }, { name: 'limited' }),
      makeClaim({ dataSourceName: 'other' }, { name: 'other' }),
    ])
    const change = defined({ type: dataSources, before, after: after && { ...before, ...after } })

    const claims = [...claimsConcerned(change, store)]

    expect(claims.map(({ metadata }) => metadata.name).toSorted()).toEqual(concerns)
  })
})

describe('a change of a claim', () => {
  const before = makeClaim()
  const matching = 'amoro-table-lake.shop.sales'
  const boundTo = (boundDataSource: string): Partial<DataSourceClaim> => ({ status: { boundDataSource } })

  test.each<{ change: string; after: Partial<DataSourceClaim> | undefined; concerns: string[] }>([
    { change: 'a new phase', after: { status: { phase: 'Pending' } }, concerns: [] },
    { change: 'that it is bound to the source of its query', after: boundTo(matching), concerns: [] },
    { change: 'that it is bound to another source', after: boundTo('other'), concerns: ['other'] },
    {
      change: 'another limit of age',
      after: { spec: { ...before.spec, policy: { maxStalenessSeconds: 1 } } },
      concerns: [matching],
    },
    { change: 'its deletion', after: undefined, concerns: [matching] },
    {
      change: 'another query',
      after: { spec: { ...before.spec, dataSourceName: 'b' } },
      concerns: [matching, 'amoro-table-b'],
    },
  ])('concerns the sources $concerns, if it is $change', async ({ after, concerns }) => {
    const store = await storeOf([makeSource({}, { name: matching })])
    const change = defined({ type: dataSourceClaims, before, after: after && { ...before, ...after } })

    expect([...new Set(sourceNamesOfChange(change, store))]).toEqual(concerns)
  })
})
