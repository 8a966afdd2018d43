/** Tests dotted names and their parts. */
import { expect, test } from 'vitest'
import { pathSegment, splitName } from './table-name.ts'

test.each([
  { name: 'catalog.db.table', want: ['catalog', 'db', 'table'] },
  { name: 'Sales_2024', want: ['Sales_2024'] },
  { name: 'a.b.c.d', want: ['a', 'b', 'c', 'd'] },
  { name: 'db.a/b', want: ['db', 'a/b'] },
  { name: 'db."my.table"', want: ['db', 'my.table'] },
  { name: '`a.b`.`c``d`', want: ['a.b', 'c`d'] },
  { name: '"a""b".c', want: ['a"b', 'c'] },
  { name: 'it"s.fine', want: ['it"s', 'fine'] },
  { name: '', want: undefined },
  { name: 'a..b', want: undefined },
  { name: '.a', want: undefined },
  { name: 'a.', want: undefined },
  { name: '"a', want: undefined },
  { name: '"a"b', want: undefined },
  { name: '"".a', want: undefined },
  { name: 's3a://lake/sales.db/orders', want: undefined },
  { name: 'HDFS://lake.example.org/x', want: undefined },
  { name: '"s3://x".orders', want: ['s3://x', 'orders'] },
])('$name: $want', ({ name, want }) => {
  expect(splitName(name)).toEqual(want)
})

test.each([
  { part: 'a/b', want: 'a%2Fb' },
  { part: 'ü 50%', want: '%C3%BC%2050%25' },
  { part: '...', want: '...' },
  { part: '.', want: undefined },
  { part: '..', want: undefined },
])('$part in a URL: $want', ({ part, want }) => {
  expect(pathSegment(part)).toBe(want)
})
