/** Goes through much in slices, so that whatever came in meanwhile, admissions above all, need not wait for the end. */
import { setImmediate as nextTurn } from 'node:timers/promises'

const ITEMS_PER_TURN = 200

/** Calls `each` for every item, with a turn of the event loop after every 200; returns how many there were. */
export async function forEachInSlices<T>(items: Iterable<T>, each: (item: T) => void): Promise<number> {
  let count = 0
  for (const item of items) {
    each(item)
    count += 1
    if (count % ITEMS_PER_TURN === 0) await nextTurn()
  }
  return count
}
