/** Lists of names as the page shows them. Pure. */
import { listNames } from '../base/names.ts'

/** Orders names as people do: `member2` before `member10`. */
export const { compare: compareNames } = new Intl.Collator('en', { numeric: true })

/** The most names that a cell has. */
export const NAMES_SHOWN = 5

/** Returns the first names, and how many more there are. */
export function joinNames(names: readonly string[]): string {
  return listNames(names, NAMES_SHOWN)
}

/** Returns a sentence about clusters of a source that have no column; undefined if all have one. */
export function describeOtherClusters(
  clusters: readonly string[] | undefined,
  columns: readonly { name: string }[],
): string | undefined {
  const known = new Set(columns.map(({ name }) => name))
  const others = (clusters ?? []).filter((name) => !known.has(name))
  return others.length === 0 ? undefined : `in ${joinNames(others)}: not in the list of clusters`
}

const FILTERS = ['namespace', 'search', 'state', 'system']

/** Whether the address selects rows: then an empty list says nothing about the fleet. */
export function isFiltered(query: Readonly<Record<string, string | undefined>>): boolean {
  return FILTERS.some((name) => query[name])
}

/** What the buttons of a list lead to. */
export interface PagePlace {
  /** The rows in words. */
  text: string
  /** The offset of the page before; absent on the first page. */
  previous?: number
  /** The offset of the page after; absent on the last page. */
  next?: number
}

/** Returns the place of a page in its list. A list may have become shorter than the offset: then the page before is its last one. */
export function placeOfPage({
  total,
  offset,
  shown,
  limit,
}: {
  total: number
  offset: number
  shown: number
  limit: number
}): PagePlace {
  const of = `of ${total.toLocaleString('en')}`
  if (shown === 0) {
    const last = Math.max(0, Math.floor((total - 1) / limit) * limit)
    return { text: `no rows after ${offset.toLocaleString('en')}, ${of}`, previous: last }
  }
  return {
    text: `${(offset + 1).toLocaleString('en')}–${(offset + shown).toLocaleString('en')} ${of}`,
    ...(offset > 0 && { previous: Math.max(0, offset - limit) }),
    ...(offset + shown < total && { next: offset + limit }),
  }
}
