import { describe, expect, test } from 'vitest'
import { readEventsRequest, readPageRequest } from './read-query.ts'

const page = (query: string) => readPageRequest('waiting', new URLSearchParams(query))

test('a query without parameters means the first 100 rows in the default order', () => {
  expect(page('')).toEqual({ sort: 'since', isDescending: false, offset: 0, limit: 100 })
})

test('every parameter is read, and an empty one counts as absent', () => {
  expect(page('namespace=demo&search=&sort=cause&order=desc&offset=20&limit=10')).toEqual({
    namespace: 'demo',
    sort: 'cause',
    isDescending: true,
    offset: 20,
    limit: 10,
  })
})

describe('a wrong query', () => {
  test.each([
    ['limt=1', 'unknown parameter limt (did you mean limit?)'],
    ['system=amoro', 'unknown parameter system'],
    ['limit=0', 'limit: takes a whole number from 1 to 500, not 0'],
    ['limit=501', 'limit: takes a whole number from 1 to 500, not 501'],
    ['limit=1e2', 'limit: takes a whole number from 1 to 500, not 1e2'],
    ['offset=-1', 'offset: takes a whole number from 0 to 10000000, not -1'],
    ['sort=age', 'sort: takes one of since, cause, name, not age'],
    ['order=up', 'order: takes one of asc, desc, not up'],
    ['search=a&search=b', 'search: given more than once'],
    [`search=${'x'.repeat(300)}`, 'search: has more than 253 characters'],
  ])('%s is rejected', (query, message) => {
    expect(() => page(query)).toThrow(message)
  })
})

describe('the lists of events', () => {
  const lists = (query: string) => readEventsRequest(new URLSearchParams(query)).lists

  test('are all lists by default, and each one once', () => {
    expect(lists('')).toContain('waiting')
    expect(lists('lists=claims,claims')).toEqual(['claims'])
  })

  test('have the parameters by which their rows are selected', () => {
    expect(lists('lists=claims,volumes&namespace=demo')).toEqual(['claims', 'volumes'])
    expect(() => lists('namespace=demo')).toThrow('namespace: rows of sources have none; leave sources out of lists')
  })

  test('must exist', () => {
    expect(() => lists('lists=claim')).toThrow('lists: unknown list claim (did you mean claims?)')
  })
})
