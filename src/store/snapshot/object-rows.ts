/** The objects of one kind as the text of their rows. In memory, the text of a million bindings is a third of the objects. */
import type { K8sObject } from '../../api/meta.ts'
import type { ObjectList } from './compact-table.ts'

/** Objects that are kept, at about 500 bytes each. A decision reads an object several times, and many decisions read the same source. */
const MAX_KEPT = 131_072

/** Builds an object when it is read. Of a table with more than `MAX_KEPT` objects, an object may be built again. */
export class ObjectRows<T extends K8sObject> implements ObjectList<T> {
  readonly #texts: readonly string[]
  readonly #build: (text: string) => T
  /** The last object that was read of those whose number has the same remainder. */
  readonly #kept: ({ number: number; object: T } | undefined)[]

  constructor(texts: readonly string[], build: (text: string) => T) {
    this.#texts = texts
    this.#build = build
    this.#kept = new Array(Math.min(texts.length, MAX_KEPT))
  }

  get size(): number {
    return this.#texts.length
  }

  at(number: number): T {
    const slot = number % MAX_KEPT
    const kept = this.#kept[slot]
    if (kept?.number === number) return kept.object
    const object = this.#build(this.#texts[number] as string)
    this.#kept[slot] = { number, object }
    return object
  }

  /** Builds each object, and keeps none: a pass over all of them would replace those that are read often. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const text of this.#texts) yield this.#build(text)
  }
}
