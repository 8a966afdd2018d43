/** Decodes the lines of a snapshot. Objects stay text until they are read; values that several objects share are one object in memory. */
import type { K8sObject } from '../../api/meta.ts'
import { isCount, isObject } from '../../base/json.ts'
import { MAX_DEPTH, MAX_OBJECTS, PROTOTYPE, SHARED_LIMITS, type Shape, type SharedLimits } from './format.ts'

/** A line is not what a writer of snapshots writes. The message says what is wrong with it. */
export class InvalidLineError extends Error {
  override name = 'InvalidLineError'
}

/** A shape, prepared for its objects. */
interface Plan {
  /** An object with all fields, which is copied: a copy needs no more memory than its fields. */
  template: Record<string, unknown>
  values: { name: string; index: number }[]
  objects: { name: string; plan: Plan }[]
}

export class ObjectDecoder {
  readonly #plans: { plan: Plan; length: number }[] = []
  readonly #values: unknown[] = []
  readonly #check: (kind: string, object: K8sObject) => void
  readonly #limits: SharedLimits
  readonly #rows = new Map<string, string[]>()
  #current: { kind: string; rows: string[] } | undefined
  #count = 0
  #length = 0
  #isComplete = false

  /** @param check throws for an object that is not allowed. The kind is `Kind.group`, as that of a kind line. */
  constructor(check: (kind: string, object: K8sObject) => void, limits = SHARED_LIMITS) {
    this.#check = check
    this.#limits = limits
  }

  /** Whether the last line was read, and its counts are right. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** The rows of each kind, by the key of the kind. */
  get rows(): ReadonlyMap<string, readonly string[]> {
    return this.#rows
  }

  /** Builds the object of a row that was read. */
  build(row: string): K8sObject {
    const parsed = JSON.parse(row)
    return (Array.isArray(parsed) ? this.#decode(parsed) : parsed.object) as K8sObject
  }

  /** Reads a line, and builds its object once to check it. Throws `InvalidLineError` or `SyntaxError`, or what `check` throws. */
  read(line: string): void {
    if (this.#isComplete) throw new InvalidLineError('it continues after its end')
    const parsed: unknown = JSON.parse(line)
    if (Array.isArray(parsed)) this.#add(this.#decode(parsed), line)
    else if (!isObject(parsed)) throw new InvalidLineError('a line is neither a row nor an object')
    else if ('value' in parsed) this.#addValue(parsed['value'], line.length)
    else if ('shape' in parsed) this.#addShape(parsed['shape'])
    else if ('object' in parsed) this.#add(parsed['object'], line)
    else if ('kind' in parsed) this.#beginKind(parsed['kind'])
    else if ('end' in parsed) this.#end(parsed['end'])
    else throw new InvalidLineError('a line has an unknown type')
  }

  #decode(row: readonly unknown[]): unknown {
    const shape = this.#plans[row[0] as number]
    if (shape === undefined || row.length !== shape.length) throw new InvalidLineError('a row does not fit its shape')
    return this.#build(shape.plan, row)
  }

  #build({ template, values, objects }: Plan, row: readonly unknown[]): Record<string, unknown> {
    const object = { ...template }
    for (const { name, index } of values) object[name] = this.#valueOf(row[index])
    for (const { name, plan } of objects) object[name] = this.#build(plan, row)
    return object
  }

  #valueOf(field: unknown): unknown {
    if (typeof field === 'string') return field
    if (typeof field !== 'number') return Array.isArray(field) ? field[0] : field
    const value = this.#values[field]
    if (value === undefined) throw new InvalidLineError(`value ${field} is missing`)
    return value
  }

  #add(object: unknown, line: string): void {
    if (!this.#current) throw new InvalidLineError('an object has no kind')
    if (!isNamed(object)) throw new InvalidLineError('an object has no name')
    this.#check(this.#current.kind, object)
    this.#count += 1
    if (this.#count > MAX_OBJECTS) throw new InvalidLineError(`it has more than ${MAX_OBJECTS} objects`)
    // A copy: V8 keeps a line as a slice of its part of the file, and the whole part with it.
    this.#current.rows.push(Buffer.from(line).toString())
  }

  #addValue(value: unknown, length: number): void {
    this.#length += length
    const { values, valuesLength } = this.#limits
    if (this.#values.length === values || this.#length > valuesLength + 16 * values)
      throw new InvalidLineError('it has too many shared values')
    this.#values.push(value)
  }

  #addShape(shape: unknown): void {
    if (this.#plans.length === this.#limits.shapes) throw new InvalidLineError('it has too many shapes')
    let length = 1
    const planOf = (fields: unknown, depth: number): Plan => {
      const isShape = isObject(fields) && !Object.hasOwn(fields, PROTOTYPE) && depth < MAX_DEPTH
      if (!isShape) throw new InvalidLineError('a shape is invalid')
      const plan: Plan = { template: {}, values: [], objects: [] }
      for (const [name, field] of Object.entries(fields as Shape)) {
        if (field === 0) plan.values.push({ name, index: length++ })
        else plan.objects.push({ name, plan: planOf(field, depth + 1) })
      }
      plan.template = JSON.parse(JSON.stringify(fields, (_, field) => (field === 0 ? null : field)))
      return plan
    }
    const plan = planOf(shape, 0)
    this.#plans.push({ plan, length })
  }

  #beginKind(key: unknown): void {
    if (typeof key !== 'string' || this.#rows.has(key)) throw new InvalidLineError('a kind is invalid or repeated')
    this.#current = { kind: key, rows: [] }
    this.#rows.set(key, this.#current.rows)
  }

  #end(end: unknown): void {
    const counts = isObject(end) && isObject(end['objects']) ? end['objects'] : {}
    const isRight =
      Object.keys(counts).length === this.#rows.size &&
      [...this.#rows].every(([key, { length }]) => isCount(counts[key]) && counts[key] === length)
    if (!isRight) throw new InvalidLineError('its objects are not as many as its last line says')
    this.#isComplete = true
  }
}

function isNamed(object: unknown): object is K8sObject {
  const { kind, apiVersion, metadata } = isObject(object) ? object : {}
  return (
    typeof kind === 'string' &&
    typeof apiVersion === 'string' &&
    isObject(metadata) &&
    typeof metadata['name'] === 'string' &&
    (metadata['namespace'] === undefined || typeof metadata['namespace'] === 'string')
  )
}
