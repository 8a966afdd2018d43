/** The difference between two states of a list, for readers that follow it. Pure. */
import { jsonEqual } from '../../base/json.ts'
import type { Identified } from './lists.ts'

/** More changed rows than this are not listed: the reader reads the list again. */
export const MAX_CHANGES = 200

export interface Delta {
  /** The number of rows after the change. */
  total: number
  /** New and changed rows. */
  upserted?: Identified<object>[]
  /** The ids of rows that are gone. */
  removed?: string[]
  /** Set if too many rows changed to list them. */
  reset?: true
}

/** The rows of a list by id. */
export type Rows = ReadonlyMap<string, Identified<object>>

/** Returns undefined if both states are equal. */
export function computeDelta(before: Rows, after: Rows): Delta | undefined {
  const removed = [...before.keys()].filter((id) => !after.has(id))
  const upserted = [...after.values()].filter((row) => !jsonEqual(before.get(row.id), row))
  const changes = removed.length + upserted.length
  if (changes === 0) return undefined
  const total = after.size
  return changes > MAX_CHANGES ? { total, reset: true } : { total, upserted, removed }
}
