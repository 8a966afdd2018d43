import { Ajv } from 'ajv'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { describeErrors, MAX_LISTED_ERRORS } from '../field-errors.ts'
import { explainMismatch, type JsonSchema } from './explain-mismatch.ts'

const names: JsonSchema = {
  type: 'object',
  properties: {
    names: { type: 'array', items: { type: 'string' } },
    few: { type: 'array', maxItems: 3, items: { type: 'string' } } as JsonSchema,
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
  additionalProperties: false,
}
const numbers = (count: number) => Array.from({ length: count }, (_, i) => i)

describe('of many errors, the first are listed and the rest are counted', () => {
  test.each([
    { name: 'items of a list', data: { names: numbers(300_000) }, wantFirst: 'names[0]' },
    {
      name: 'members of a map',
      data: { labels: Object.fromEntries(numbers(300_000).map((i) => [`key${i}`, i])) },
      wantFirst: 'labels.key0',
    },
    {
      name: 'unknown fields',
      data: Object.fromEntries(numbers(300_000).map((i) => [`field${i}`, i])),
      wantFirst: 'field0',
    },
  ])('$name', ({ data, wantFirst }) => {
    const errors = explainMismatch(names, data)
    expect(errors).toHaveLength(MAX_LISTED_ERRORS + 1)
    expect(errors[0]?.path).toBe(wantFirst)
    expect(errors.at(-1)).toMatchObject({ code: 'TooMany', count: 299_980 })
    expect(describeErrors(errors)).toContain('; and 299980 more errors')
  })
})

test('a list above the limit is one error: its items are not checked', () => {
  expect(explainMismatch(names, { few: numbers(100_000) })).toEqual([
    { path: 'few', code: 'TooLong', message: 'must have at most 3 items, has 100000' },
  ])
})

test('a long field name does not make a message long', () => {
  const errors = explainMismatch(names, { ['x'.repeat(1_000_000)]: 1 })
  expect(describeErrors(errors).length).toBeLessThan(1100)
})

test('ajv and the explanation agree for any data', () => {
  const leaf = fc.oneof(
    fc.constantFrom('', 'a', 'abc', 'abcd', '😀😀', 'A', 'B', 0, 1, -1, 1.5, 9, null, true, false),
    fc.string({ maxLength: 5 }),
    fc.integer(),
  )
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ depthSize: 'small' }, leaf, fc.array(tie('any'), { maxLength: 4 }), tie('object')),
    object: fc.dictionary(
      fc.constantFrom('text', 'size', 'kind', 'one', 'list', 'map', 'other', 'constructor'),
      tie('any'),
      {
        maxKeys: 5,
      },
    ),
  })).object
  const schema = {
    type: 'object',
    required: ['text'],
    properties: {
      text: { type: 'string', minLength: 1, maxLength: 3 },
      size: { type: ['integer', 'null'], minimum: 0, maximum: 8 },
      kind: { enum: ['A', 'B'] },
      one: { const: 1 },
      list: { type: 'array', minItems: 1, maxItems: 3, items: { type: 'string', pattern: '^[a-c]+$' } },
      map: { type: 'object', maxProperties: 2, additionalProperties: { type: 'integer' } },
    },
    additionalProperties: false,
  }
  const isValid = new Ajv({ strict: false }).compile(schema)
  fc.assert(
    fc.property(value, (data) => {
      expect(explainMismatch(schema as JsonSchema, data).length === 0).toBe(isValid(data))
    }),
    { numRuns: 2000 },
  )
})
