/** Names for a message: the first ones, and the number of the others. A folder may have millions of files. */

/** The most names in a message. */
const MAX_NAMED = 20

export class NameList {
  readonly #first: string[] = []
  #count = 0

  add(name: string): void {
    this.#count += 1
    if (this.#count <= MAX_NAMED) this.#first.push(name)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Returns the names in the order in which they were added, e.g. `a, b, and 7 more`. */
  join(between = ', '): string {
    const more = this.#count > MAX_NAMED ? `${between}and ${this.#count - MAX_NAMED} more` : ''
    return `${this.#first.join(between)}${more}`
  }
}
