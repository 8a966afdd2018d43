import { expect, test } from 'vitest'
import { makeClaim, makeSource } from '../../../test/builders.ts'
import { queryKeyOfClaim, queryKeyOfSource } from './query-key.ts'

const attributes = Object.fromEntries(Array.from({ length: 32 }, (_, i) => [`attribute-${i}`, 'x'.repeat(1024)]))

test('a claim and the source of the same query have the same short key', () => {
  const key = queryKeyOfClaim(makeClaim({ attributes }))
  expect(key).toBe(queryKeyOfSource(makeSource({ attributes })))
  expect(key.length).toBeLessThanOrEqual(64)
})

test('another attribute gives another key', () => {
  const other = { ...attributes, 'attribute-0': 'y' }
  expect(queryKeyOfClaim(makeClaim({ attributes }))).not.toBe(queryKeyOfClaim(makeClaim({ attributes: other })))
})
