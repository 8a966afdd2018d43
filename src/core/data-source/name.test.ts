import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { subdomainProblem } from '../names.ts'
import { sourceName } from './name.ts'

test.each([
  {
    name: 'a plain question has the name that volcano-global gave it',
    question: ['amoro', 'table', 'dc1.db.user'],
    want: /^amoro-table-dc1\.db\.user$/,
  },
  {
    name: 'upper case and underscores are made valid',
    question: ['amoro', 'table', 'dc1.db.Sales_2024'],
    want: /^amoro-table-dc1\.db\.sales-2024-[a-z0-9]{13}$/,
  },
  {
    name: 'a slash in a name is made valid',
    question: ['s3', 'prefix', 'bucket/a/b'],
    want: /^s3-prefix-bucket-a-b-[a-z0-9]{13}$/,
  },
  {
    name: 'a system with a dash carries a hash, since its name could be read in two ways',
    question: ['iceberg-rest', 'table', 'a.b'],
    want: /^iceberg-rest-table-a\.b-[a-z0-9]{13}$/,
  },
] as { name: string; question: [string, string, string]; want: RegExp }[])(
  '$name',
  ({ question: [system, type, name], want }) => {
    expect(sourceName({ system, type, name })).toMatch(want)
  },
)

test('attributes make another question, in whatever order they are written', async () => {
  const question = { system: 's3', type: 'bucket', name: 'a' }
  const one = sourceName({ ...question, attributes: { x: '1', y: '2' } })
  expect(sourceName({ ...question, attributes: { y: '2', x: '1' } })).toBe(one)
  expect(sourceName({ ...question, attributes: { x: '1' } })).not.toBe(one)
  expect(sourceName(question)).toBe('s3-bucket-a')
})

test('every question has a valid name of its own', async () => {
  const question = fc.record({
    system: fc.string({ minLength: 1, maxLength: 63 }),
    type: fc.string({ minLength: 1, maxLength: 63 }),
    name: fc.string({ minLength: 1, maxLength: 300 }),
  })
  await fc.assert(
    fc.property(question, question, (a, b) => {
      expect(subdomainProblem(sourceName(a))).toBeUndefined()
      const same = a.system === b.system && a.type === b.type && a.name === b.name
      expect(sourceName(a) === sourceName(b)).toBe(same)
    }),
  )
})
