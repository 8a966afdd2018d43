/** Encodes objects as lines of a snapshot. Values that objects share are written once. */
import type { K8sObject } from '../../api/meta.ts'
import { isObject } from '../../base/json.ts'
import { isOpen, mayBeOpen, PROTOTYPE, SHARED_LIMITS, type Shape, type SharedLimits } from './format.ts'

/** After so many values of a field, it is known whether they repeat. Of 100,000 sources, 20,000 claims name one in ten twice. */
const ENOUGH = 20_000
/** The share of values that have not occurred before, from which a field counts as unique. */
const MOSTLY = 0.95

/** How often the values of a field repeat. */
interface Repetition {
  seen: number
  distinct: number
  /** Whether nearly all values were new, as names are. They are then written as they are, and objects field by field. */
  isUnique: boolean
}

export class ObjectEncoder {
  readonly #write: (line: string) => void
  readonly #limits: SharedLimits
  readonly #shapes = new Map<string, number>()
  readonly #values = new Map<string, number>()
  /** The numbers of lists and objects that cached objects share. */
  readonly #shared = new WeakMap<object, number>()
  #repetitions = new Map<string, Repetition>()
  #length = 0

  /** @param write takes each line, without the line break */
  constructor(write: (line: string) => void, limits = SHARED_LIMITS) {
    this.#write = write
    this.#limits = limits
  }

  beginKind(key: string): void {
    this.#repetitions = new Map()
    this.#write(JSON.stringify({ kind: key }))
  }

  add(object: K8sObject): void {
    const row: unknown[] = [0]
    const text = this.#describe(object, '', row)
    const shape = text === undefined ? undefined : this.#shapeOf(text)
    if (shape === undefined) {
      this.#write(JSON.stringify({ object }))
      return
    }
    row[0] = shape
    this.#write(JSON.stringify(row))
  }

  /** Appends the values of an object to the row. Returns its shape as JSON; undefined if it can have none. */
  #describe(object: object, path: string, row: unknown[]): string | undefined {
    let text = ''
    for (const [name, value] of Object.entries(object)) {
      if (value === undefined) continue
      if (name === PROTOTYPE) return undefined
      const at = path === '' ? name : `${path}.${name}`
      let shape: string | undefined = '0'
      if (isObject(value) && (isOpen(at) || (mayBeOpen(at) && this.#repetitionOf(at).isUnique)))
        shape = this.#describe(value, at, row)
      else row.push(this.#encode(at, value))
      if (shape === undefined) return undefined
      text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${shape}`
    }
    return `{${text}}`
  }

  #shapeOf(text: string): number | undefined {
    const known = this.#shapes.get(text)
    if (known !== undefined) return known
    const number = this.#shapes.size
    if (number === this.#limits.shapes) return undefined
    this.#write(JSON.stringify({ shape: JSON.parse(text) as Shape }))
    this.#shapes.set(text, number)
    return number
  }

  #repetitionOf(path: string): Repetition {
    let repetition = this.#repetitions.get(path)
    if (repetition === undefined) {
      repetition = { seen: 0, distinct: 0, isUnique: false }
      this.#repetitions.set(path, repetition)
    }
    return repetition
  }

  /** Returns the number of a value that repeats, or the value itself. */
  #encode(path: string, value: unknown): unknown {
    const repetition = this.#repetitionOf(path)
    const isReference = typeof value === 'object' && value !== null
    const shared = isReference ? this.#shared.get(value) : undefined
    repetition.seen += 1
    if (shared !== undefined) return shared
    const inline = typeof value === 'string' ? value : [value]
    if (repetition.isUnique) return inline
    const text = JSON.stringify(value)
    const number = this.#values.get(text) ?? this.#addValue(text, repetition)
    if (number === undefined) return inline
    if (isReference && !mayBeOpen(path)) this.#shared.set(value, number)
    return number
  }

  /** Returns the number of a new value; undefined if there are too many. */
  #addValue(text: string, repetition: Repetition): number | undefined {
    repetition.distinct += 1
    repetition.isUnique = repetition.seen > ENOUGH && repetition.distinct > MOSTLY * repetition.seen
    const number = this.#values.size
    const { values, valuesLength } = this.#limits
    if (number === values || this.#length + text.length > valuesLength) return undefined
    this.#length += text.length
    this.#values.set(text, number)
    this.#write(`{"value":${text}}`)
    return number
  }
}
