/** Tells whether another dispatcher of MultiKueue changes the nominations that Lodestone writes. */
import { isSameSet } from '../../base/json.ts'

/** What Lodestone wrote for a Workload, and how often another writer changed it. */
export interface NominationMemory {
  /** RFC 3339: the reservation of quota to which the rest belongs. */
  since: string
  written: readonly string[]
  changes: number
}

/** Kueue itself changes a nomination once, when another Workload of the same job has a worker cluster. */
const MAX_CHANGES = 3

/**
 * Returns the memory after a look at the present nomination. Kueue removes a nomination when it evicts the Workload or has found its worker, so
 * an empty one is no change of another dispatcher.
 */
export function rememberChange(
  memory: NominationMemory | undefined,
  since: string,
  nominated: readonly string[],
): NominationMemory {
  if (memory?.since !== since) return { since, written: nominated, changes: 0 }
  const isChanged = nominated.length > 0 && !isSameSet(nominated, memory.written)
  return { since, written: nominated, changes: memory.changes + (isChanged ? 1 : 0) }
}

/** Whether another dispatcher nominates the clusters, so that Lodestone stops. */
export function isOverruled({ changes }: NominationMemory): boolean {
  return changes >= MAX_CHANGES
}
