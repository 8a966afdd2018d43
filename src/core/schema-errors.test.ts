import { expect, test } from 'vitest'
import { compileSchema } from './schema-errors.ts'

const schema = {
  type: 'object',
  required: ['name'],
  properties: {
    name: { type: 'string', minLength: 1, maxLength: 3 },
    size: { type: 'integer', minimum: 1 },
    kind: { enum: ['A', 'B'] },
    version: { const: 'v1' },
    list: { type: 'array', maxItems: 2, items: { type: 'object', properties: { 'a/b~c': { type: 'string' } } } },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
  },
}
const open = compileSchema(schema)
const strict = compileSchema(schema, 'forbidden')

test.each<{ name: string; data: unknown; want: [string, string][] }>([
  {
    name: 'nothing is wrong with what fits',
    data: { name: 'abc', size: 1, list: [{}], labels: { any: 'x' } },
    want: [],
  },
  { name: 'a missing member is named where it should be', data: {}, want: [['name', 'Required']] },
  { name: 'the root has a name of its own', data: 'text', want: [['(root)', 'Invalid']] },
  { name: 'an empty text is invalid', data: { name: '' }, want: [['name', 'Invalid']] },
  { name: 'a text may be too long', data: { name: 'abcd' }, want: [['name', 'TooLong']] },
  { name: 'a list may be too long', data: { name: 'a', list: [{}, {}, {}] }, want: [['list', 'TooLong']] },
  { name: 'a number has its limits', data: { name: 'a', size: 0 }, want: [['size', 'Invalid']] },
  { name: 'a number is whole', data: { name: 'a', size: 1.5 }, want: [['size', 'Invalid']] },
  { name: 'one of a few', data: { name: 'a', kind: 'C' }, want: [['kind', 'NotSupported']] },
  { name: 'exactly one', data: { name: 'a', version: 'v2' }, want: [['version', 'NotSupported']] },
  {
    name: 'items are numbered, and odd names bracketed',
    data: { name: 'a', list: [{}, { 'a/b~c': 1 }] },
    want: [['list[1][a/b~c]', 'Invalid']],
  },
  {
    name: 'a map has any members, all of one type',
    data: { name: 'a', labels: { x: 1 } },
    want: [['labels.x', 'Invalid']],
  },
  {
    name: 'everything is said at once',
    data: { size: 0, kind: 'C' },
    want: [
      ['name', 'Required'],
      ['size', 'Invalid'],
      ['kind', 'NotSupported'],
    ],
  },
])('$name', ({ data, want }) => {
  const got = open(data).map(({ path, code }) => [path, code])
  expect(got.toSorted()).toEqual(want.toSorted())
})

test('an unknown member is welcome, or an error where a user may have misspelt it', () => {
  const data = { name: 'a', nmae: 'b', list: [{ extra: 1 }], labels: { extra: 'x' } }
  expect(open(data)).toEqual([])
  expect(strict(data).map(({ path, code }) => [path, code])).toEqual([
    ['nmae', 'NotSupported'],
    ['list[0].extra', 'NotSupported'],
  ])
})
