/** The schema of a test: given objects, a request, and the expected answer. docs/guides/test.md documents each field. */
const text = { type: 'string', minLength: 1 }
const texts = { type: 'array', items: text }
const object = { type: 'object' }

const answer = {
  allowed: { type: 'boolean' },
  message: { type: ['string', 'null'] },
  decision: { type: ['string', 'null'] },
  reason: { type: ['string', 'null'] },
  warnings: { type: 'array', items: { type: 'string' } },
  patch: { type: 'array', items: { type: 'object' } },
  clusters: { type: ['array', 'null'], items: text },
}

export const testSchema = {
  type: 'object',
  required: ['when'],
  properties: {
    description: text,
    config: object,
    now: text,
    files: texts,
    given: { type: 'array', items: object },
    when: {
      type: 'object',
      properties: { object, oldObject: object, file: text, kind: text, name: text },
    },
    expect: {
      type: 'object',
      properties: { ...answer, binding: { type: ['object', 'null'], properties: answer } },
    },
  },
}

/** What admission answers. A field that is null has no value: an allowed object has no `message`. */
export interface Answer {
  allowed: boolean
  /** The errors of a rejected object, as kubectl shows them. */
  message: string | null
  /** The decision, e.g. Narrowed or OnHold; null for kinds without one. */
  decision: string | null
  reason: string | null
  warnings: readonly string[]
  /** The change as a JSON Patch; empty for an unchanged object. */
  patch: readonly object[]
  /** The clusters that the placement of a binding names, in its order; null for other kinds and for a placement without names. */
  clusters: readonly string[] | null
}

/** The answer for an object, and for the binding that Karmada derives from it. */
export interface ActualAnswer extends Answer {
  binding: Answer | null
}

/** The expected fields: no other field is compared. */
export type Expected = Partial<Answer> & { binding?: Partial<Answer> | null }

/** A test as a file has it. */
export interface GivenTest {
  description?: string
  config?: object
  now?: string
  files?: string[]
  given?: unknown[]
  when: { object?: unknown; oldObject?: unknown; file?: string; kind?: string; name?: string }
  expect?: Expected
}
