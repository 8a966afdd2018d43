import { describe, expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import { claimSource } from './source.ts'

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
