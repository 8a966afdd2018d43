import { hash } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { subdomainProblem } from '../../base/names.ts'
import { sourceName } from './name.ts'

type Query = Parameters<typeof sourceName>[0]

const nameOf = (query: Query) => sourceName(query, (text) => hash('sha256', text))

test.each([
  {
    name: 'a plain query has the name that volcano-global gives it',
    query: ['amoro', 'table', 'dc1.db.user'],
    want: /^amoro-table-dc1\.db\.user$/,
  },
  {
    name: 'upper case and underscores are replaced',
    query: ['amoro', 'table', 'dc1.db.Sales_2024'],
    want: /^amoro-table-dc1\.db\.sales-2024-[a-z0-9]{25}$/,
  },
  {
    name: 'a slash is replaced',
    query: ['s3', 'prefix', 'bucket/a/b'],
    want: /^s3-prefix-bucket-a-b-[a-z0-9]{25}$/,
  },
  {
    name: 'a system with a dash gets a hash, since its name would be ambiguous',
    query: ['iceberg-rest', 'table', 'a.b'],
    want: /^iceberg-rest-table-a\.b-[a-z0-9]{25}$/,
  },
] as { name: string; query: [string, string, string]; want: RegExp }[])(
  '$name',
  ({ query: [system, type, name], want }) => {
    expect(nameOf({ system, type, name })).toMatch(want)
  },
)

test('attributes change the name, and their order does not matter', async () => {
  const query = { system: 's3', type: 'bucket', name: 'a' }
  const one = nameOf({ ...query, attributes: { x: '1', y: '2' } })
  expect(nameOf({ ...query, attributes: { y: '2', x: '1' } })).toBe(one)
  expect(nameOf({ ...query, attributes: { x: '1' } })).not.toBe(one)
  expect(nameOf(query)).toBe('s3-bucket-a')
})

test.each([
  { name: 'a name that ends like a hash', query: 'prod.sales.orders-3ldg3oaoyj9do3ldg3oaoyj9d', hashed: true },
  { name: 'a name that ends in fewer characters', query: 'prod.sales.orders-3ldg3oaoyj9do', hashed: false },
  { name: 'a name that ends in a UUID', query: 'run-123e4567-e89b-12d3-a456-426614174000', hashed: false },
])('$name gets its own hash: $hashed', ({ query: name, hashed }) => {
  expect(nameOf({ system: 'iceberg', type: 'table', name }).length > `iceberg-table-${name}`.length).toBe(hashed)
})

/** Short texts of few characters, so that different queries look similar. */
const word = fc.oneof(fc.string({ minLength: 1, maxLength: 63 }), fc.stringMatching(/^[ab.-]{1,4}$/))
const queries: fc.Arbitrary<Query> = fc.record(
  {
    system: word,
    type: word,
    name: fc.oneof(word, fc.string({ minLength: 1, maxLength: 300 })),
    attributes: fc.dictionary(word, word, { maxKeys: 2 }),
  },
  { requiredKeys: ['system', 'type', 'name'] },
)

/** All queries for which a text could be the plain name. */
function readings(name: string): Query[] {
  const parts = name.split('-')
  return parts.flatMap((_, first) =>
    parts.slice(first + 2, first + 6).map((_, second) => ({
      system: parts.slice(0, first + 1).join('-'),
      type: parts.slice(first + 1, first + 2 + second).join('-'),
      name: parts.slice(first + 2 + second).join('-'),
    })),
  )
}

/** The identity of a query: absent and empty attributes are equal. */
const identityOf = ({ system, type, name, attributes = {} }: Query) =>
  JSON.stringify([system, type, name, Object.entries(attributes).sort()])

test('every query has its own valid name', async () => {
  await fc.assert(
    fc.property(queries, queries, (a, b) => {
      expect(subdomainProblem(nameOf(a))).toBeUndefined()
      expect(nameOf(a) === nameOf(b)).toBe(identityOf(a) === identityOf(b))
    }),
  )
})

test('no query can be crafted to get the name of another one', async () => {
  await fc.assert(
    fc.property(queries, (victim) => {
      const name = nameOf(victim)
      const crafted = readings(name).filter((query) => identityOf(query) !== identityOf(victim))
      expect(crafted.filter((query) => nameOf(query) === name)).toEqual([])
    }),
    { examples: [[{ system: 'iceberg', type: 'table', name: 'prod.sales.orders', attributes: { warehouse: 'eu' } }]] },
  )
})
