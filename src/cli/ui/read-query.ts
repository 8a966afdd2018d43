/** Reads the query of a list: namespace, system, state, search, sort, order, offset and limit. Pure. */
import { suggest } from '../../base/suggest.ts'
import { LIST_NAMES, type ListName, type PageRequest, type Selection, selectionParameters, sortWords } from './lists.ts'

const DEFAULT_LIMIT = 100
const MAX_LIMIT = 500
/** A fleet has fewer rows than this in every list. */
const MAX_OFFSET = 10_000_000
const MAX_TEXT = 253

const SELECTION = ['namespace', 'system', 'state', 'search'] as const
const PAGE = ['sort', 'order', 'offset', 'limit']

/** A query that cannot be read. The message has the parameter and what it takes. */
export class QueryError extends Error {
  override name = 'QueryError'
}

/** Reads the query of one page of a list. Throws `QueryError`. */
export function readPageRequest(name: ListName, query: URLSearchParams): PageRequest {
  checkNames(query, [...selectionParameters(name), ...PAGE])
  const [defaultSort = 'name', ...sorts] = sortWords(name)
  return {
    ...readQuerySelection(query),
    sort: readQueryChoice(query, 'sort', [defaultSort, ...sorts]),
    isDescending: readQueryChoice(query, 'order', ['asc', 'desc']) === 'desc',
    offset: wholeNumber(query, 'offset', 0, MAX_OFFSET, 0),
    limit: wholeNumber(query, 'limit', 1, MAX_LIMIT, DEFAULT_LIMIT),
  }
}

/** Reads the query of the events: the lists to follow, all by default, and a selection of their rows. Throws `QueryError`. */
export function readEventsRequest(query: URLSearchParams): { lists: ListName[]; selection: Selection } {
  checkNames(query, [...SELECTION, 'lists'])
  const words = query.get('lists')?.split(',') ?? LIST_NAMES
  const lists = [...new Set(words)].map((word) => {
    const known = LIST_NAMES.find((name) => name === word)
    if (!known) throw new QueryError(`lists: unknown list ${shown(word)}${suggest(word, LIST_NAMES)}`)
    return known
  })
  for (const name of SELECTION.filter((parameter) => query.has(parameter))) {
    const without = lists.find((list) => !selectionParameters(list).includes(name))
    if (without) throw new QueryError(`${name}: rows of ${without} have none; leave ${without} out of lists`)
  }
  return { lists, selection: readQuerySelection(query) }
}

/** Reads a query with a namespace only; undefined without one. Throws `QueryError`. */
export function readNamespace(query: URLSearchParams): string | undefined {
  checkNames(query, ['namespace'])
  return text(query, 'namespace')
}

function readQuerySelection(query: URLSearchParams): Selection {
  const [namespace, system, state, search] = SELECTION.map((name) => text(query, name))
  return { namespace, system, state, search }
}

function checkNames(query: URLSearchParams, known: readonly string[]): void {
  for (const name of query.keys()) {
    if (!known.includes(name)) throw new QueryError(`unknown parameter ${shown(name)}${suggest(name, known)}`)
    if (query.getAll(name).length > 1) throw new QueryError(`${name}: given more than once`)
  }
}

/** An empty value counts as absent: forms send it. */
function text(query: URLSearchParams, name: string): string | undefined {
  const value = query.get(name)?.trim() || undefined
  if (value !== undefined && value.length > MAX_TEXT)
    throw new QueryError(`${name}: has more than ${MAX_TEXT} characters`)
  return value
}

function readQueryChoice(query: URLSearchParams, name: string, values: readonly [string, ...string[]]): string {
  const value = query.get(name) ?? values[0]
  if (!values.includes(value)) {
    throw new QueryError(`${name}: takes one of ${values.join(', ')}, not ${shown(value)}`)
  }
  return value
}

function wholeNumber(query: URLSearchParams, name: string, min: number, max: number, fallback: number): number {
  const given = query.get(name)
  if (given === null) return fallback
  const value = /^[0-9]{1,9}$/.test(given) ? Number(given) : Number.NaN
  if (!(value >= min && value <= max)) {
    throw new QueryError(`${name}: takes a whole number from ${min} to ${max}, not ${shown(given)}`)
  }
  return value
}

function shown(value: string): string {
  return value.slice(0, 100)
}
