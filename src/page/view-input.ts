/** What every view receives. */
import type { ListName } from '../cli/ui/lists.ts'

export interface ViewInput {
  /** The query of the address: filter, sort and offset. */
  query: Readonly<Record<string, string | undefined>>
  /** The version of a list: a view reads it again when it grows. */
  version: (name: ListName) => number
  /** The folder that the server reads; undefined for a cluster. */
  folder?: string | undefined
  /** Milliseconds since the epoch. */
  now: number
}
