/** Tests how the page shows lists of names, and the place of a page in its list. */
import { expect, test } from 'vitest'
import { describeOtherClusters, isFiltered, joinNames, placeOfPage } from './names.ts'

const many = ['a', 'b', 'c', 'd', 'e', 'f', 'g']

test.each([
  { names: [], text: '' },
  { names: many.slice(0, 5), text: 'a, b, c, d, e' },
  { names: many, text: 'a, b, c, d, e and 2 more' },
])('$names is shown as $text', ({ names, text }) => {
  expect(joinNames(names)).toBe(text)
})

test('clusters of a source without a column are named', () => {
  const columns = [{ name: 'a' }, { name: 'b' }]
  expect(describeOtherClusters(['a', 'typo'], columns)).toBe('in typo: not in the list of clusters')
  expect(describeOtherClusters(['b'], columns)).toBeUndefined()
  expect(describeOtherClusters(undefined, columns)).toBeUndefined()
})

test('only a filter makes an empty list say nothing about the fleet', () => {
  expect([{ search: 'a' }, { namespace: 'a' }, { state: 'a' }, { system: 'a' }].map(isFiltered)).not.toContain(false)
  expect(isFiltered({ sort: 'bytes', order: 'desc', offset: '100', search: undefined })).toBe(false)
})

test('the buttons of a list lead to its pages', () => {
  const at = (offset: number, shown: number) => placeOfPage({ total: 250, offset, shown, limit: 100 })
  expect(at(0, 100)).toEqual({ text: '1–100 of 250', next: 100 })
  expect(at(100, 100)).toEqual({ text: '101–200 of 250', previous: 0, next: 200 })
  expect(at(200, 50)).toEqual({ text: '201–250 of 250', previous: 100 })
})

test('the page before one that is gone is the last page', () => {
  expect(placeOfPage({ total: 250, offset: 400, shown: 0, limit: 100 })).toEqual({
    text: 'no rows after 400, of 250',
    previous: 200,
  })
  expect(placeOfPage({ total: 100, offset: 100, shown: 0, limit: 100 }).previous).toBe(0)
})
