import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { SourceReport } from '../status/report.ts'
import { EMPTY_LISTS } from './lists.fake.ts'
import { type PageRequest, selectPage } from './lists.ts'

function source(name: string, overrides: Partial<SourceReport> = {}): SourceReport {
  return { name, system: 'amoro', type: 'table', dataName: `sales.${name}`, phase: 'Available', ...overrides }
}

function page(sources: SourceReport[], request: Partial<PageRequest> = {}) {
  return selectPage({ ...EMPTY_LISTS, sources }, 'sources', {
    sort: 'name',
    isDescending: false,
    offset: 0,
    limit: 100,
    ...request,
  })
}

const names = ({ items }: ReturnType<typeof page>) => items.map(({ id }) => id)

test('a page has the number of all selected rows, and the number in each state', () => {
  const sources = [source('a'), source('b', { phase: 'Pending' }), source('c')]
  expect(page(sources, { state: 'Available', limit: 1 })).toEqual({
    total: 2,
    states: { Available: 2, Pending: 1 },
    items: [{ id: 'a', ...source('a') }],
  })
})

test.each<{ name: string; request: Partial<PageRequest>; want: string[] }>([
  { name: 'by name', request: {}, want: ['big', 'lost', 'small', 'unknown'] },
  { name: 'by name, descending', request: { isDescending: true }, want: ['unknown', 'small', 'lost', 'big'] },
  { name: 'by size', request: { sort: 'bytes', isDescending: true }, want: ['big', 'small', 'lost', 'unknown'] },
  { name: 'by copies, with unknown ones last', request: { sort: 'copies' }, want: ['lost', 'small', 'big', 'unknown'] },
  { name: 'of one data system', request: { system: 'hive' }, want: ['small'] },
  { name: 'with a text in any value, in any case', request: { search: 'SALES.LO' }, want: ['lost'] },
  { name: 'with a text in a list', request: { search: 'm2' }, want: ['big'] },
])('sources are listed $name', ({ request, want }) => {
  const sources = [
    source('unknown'),
    source('big', { bytes: 9, clusters: ['m1', 'm2'] }),
    source('small', { bytes: 1, clusters: ['m1'], system: 'hive' }),
    source('lost', { clusters: [] }),
  ]
  expect(names(page(sources, request))).toEqual(want)
})

test('all pages together have every row once, in the order of one large page', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.nat(500), { maxLength: 60 }),
      fc.constantFrom('name', 'bytes', 'copies', 'confirmed'),
      fc.boolean(),
      fc.integer({ min: 1, max: 20 }),
      (numbers, sort, isDescending, limit) => {
        const sources = numbers.map((n) => source(`s${n}`, { bytes: n % 3 }))
        const pages = Array.from({ length: Math.ceil(numbers.length / limit) }, (_, i) =>
          names(page(sources, { sort, isDescending, limit, offset: i * limit })),
        )
        expect(pages.flat()).toEqual(names(page(sources, { sort, isDescending, limit: 500 })))
        expect(new Set(pages.flat()).size).toBe(numbers.length)
      },
    ),
  )
})
