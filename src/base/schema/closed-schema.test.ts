import { expect, test } from 'vitest'
import { closedSchema } from './closed-schema.ts'

test('objects with named members are closed at every depth; maps and word lists stay', () => {
  const schema = {
    type: 'object',
    required: ['name'],
    properties: {
      name: { type: 'string' },
      labels: { type: 'object', additionalProperties: { type: 'string' } },
      free: { type: 'object' },
      items: { type: 'array', items: { type: 'object', properties: { type: { enum: ['a', 'b'] } } } },
    },
  }

  expect(closedSchema(schema)).toEqual({
    ...schema,
    additionalProperties: false,
    properties: {
      ...schema.properties,
      items: {
        type: 'array',
        items: { type: 'object', properties: { type: { enum: ['a', 'b'] } }, additionalProperties: false },
      },
    },
  })
  expect(schema).not.toHaveProperty('additionalProperties')
})

test('the caller decides how an object is closed', () => {
  const schema = { type: 'object', properties: { b: {}, a: {} } }

  expect(closedSchema(schema, (names) => ({ maxProperties: names.length }))).toEqual({ ...schema, maxProperties: 2 })
})
