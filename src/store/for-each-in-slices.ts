/** Iterates over many items in slices, so that waiting requests, above all admission reviews, are handled between two slices. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const ITEMS_PER_TURN = 200

/** Calls `each` for every item, and yields to the event loop after every 200 items. Returns the number of items. */
export async function forEachInSlices<T>(items: Iterable<T>, each: (item: T) => void): Promise<number> {
  let count = 0
  for (const item of items) {
    each(item)
    count += 1
    if (count % ITEMS_PER_TURN === 0) await nextTurn()
  }
  return count
}
