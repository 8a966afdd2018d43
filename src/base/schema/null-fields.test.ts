import { expect, test } from 'vitest'
import { withoutNullFields } from './null-fields.ts'

const text = { type: 'string' }
const schema = {
  type: 'object',
  properties: {
    name: text,
    nested: { type: 'object', properties: { name: text } },
    map: { type: 'object', additionalProperties: { type: 'array' } },
    list: { type: 'array', items: { type: 'object', properties: { name: text } } },
    names: { type: 'array' },
  },
}

test.each<{ name: string; value: unknown; want: unknown }>([
  { name: 'a field', value: { name: null }, want: {} },
  { name: 'a nested field', value: { nested: { name: null } }, want: { nested: {} } },
  { name: 'a field of an item', value: { list: [{ name: null }, null] }, want: { list: [{}, null] } },
  { name: 'a map', value: { map: null }, want: {} },
])('removes $name that is null', ({ value, want }) => {
  expect(withoutNullFields(schema, value)).toEqual(want)
})

test.each<{ name: string; value: unknown }>([
  { name: 'a member of a map', value: { map: { a: null } } },
  { name: 'an item', value: { names: [null] } },
  { name: 'an unknown field', value: { nmae: null } },
  { name: 'a field of the wrong type', value: { nested: 'x', list: {} } },
  { name: 'a value that is null', value: null },
])('keeps $name, for the error', ({ value }) => {
  expect(withoutNullFields(schema, value)).toBe(value)
})
