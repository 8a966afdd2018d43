/** Spaces the runs of a key that concerns many objects, so that they take a small part of the time of the process. */

/** Runs for fewer objects take less than a millisecond. */
const MANY = 200
/** A run takes about a microsecond for each object: at most a hundredth of the time is spent on one key. */
const REST_MS_PER_OBJECT = 0.1
const MAX_REST_MS = 1000

/** For instance, a hundred thousand claims can be for one table, and each new one changes the status of its source. */
export class Spacing {
  readonly #rests = new Map<string, { from: number; until: number }>()

  /**
   * Returns the ms until the key may run; 0 if it may run now.
   *
   * @param now in ms since the epoch; a clock that was set back ends the rest
   */
  waitMs(key: string, now: number): number {
    const rest = this.#rests.get(key)
    return rest && now >= rest.from ? Math.max(0, rest.until - now) : 0
  }

  /** Notes a run, with the number of objects that it concerned. */
  ran(key: string, objects: number, now: number): void {
    if (objects < MANY) this.#rests.delete(key)
    else this.#rests.set(key, { from: now, until: now + Math.min(MAX_REST_MS, objects * REST_MS_PER_OBJECT) })
  }
}
