import { Ajv } from 'ajv'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { compilePendingSchemas, compileSchema } from './schema-errors.ts'

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

test.each<{ format: string; value: number; message?: string }>([
  { format: 'int32', value: 2 ** 31 - 1 },
  { format: 'int32', value: 2 ** 31, message: 'must be less than or equal to 2147483647' },
  { format: 'int32', value: -(2 ** 31) - 1, message: 'must be greater than or equal to -2147483648' },
  // JavaScript reads 2^63 - 1 as 2^63.
  { format: 'int64', value: 2 ** 63 },
  { format: 'int64', value: 1e19, message: 'must be less than or equal to 9223372036854775807' },
  { format: 'int64', value: -1e30, message: 'must be greater than or equal to -9223372036854775808' },
  { format: 'date-time', value: 1e30 },
])('$value as $format: $message', ({ format, value, message }) => {
  const errors = compileSchema({ type: 'object', properties: { size: { type: 'integer', format } } })({ size: value })
  expect(errors).toEqual(message ? [{ path: 'size', code: 'Invalid', message }] : [])
})

test.each<{ name: string; data: unknown; want: [string, string][] }>([
  {
    name: 'valid data has no errors',
    data: { name: 'abc', size: 1, list: [{}], labels: { any: 'x' } },
    want: [],
  },
  { name: 'a missing member has a path', data: {}, want: [['name', 'Required']] },
  { name: 'the root has the path (root)', data: 'text', want: [['(root)', 'Invalid']] },
  { name: 'an empty text is invalid', data: { name: '' }, want: [['name', 'Invalid']] },
  { name: 'a text above its limit is too long', data: { name: 'abcd' }, want: [['name', 'TooLong']] },
  { name: 'a list above its limit is too long', data: { name: 'a', list: [{}, {}, {}] }, want: [['list', 'TooLong']] },
  { name: 'a number below its minimum is invalid', data: { name: 'a', size: 0 }, want: [['size', 'Invalid']] },
  { name: 'a number that is not an integer is invalid', data: { name: 'a', size: 1.5 }, want: [['size', 'Invalid']] },
  {
    name: 'a value outside of an enum is not supported',
    data: { name: 'a', kind: 'C' },
    want: [['kind', 'NotSupported']],
  },
  {
    name: 'a value other than a const is not supported',
    data: { name: 'a', version: 'v2' },
    want: [['version', 'NotSupported']],
  },
  {
    name: 'items have an index, and unusual names are in brackets',
    data: { name: 'a', list: [{}, { 'a/b~c': 1 }] },
    want: [['list[1][a/b~c]', 'Invalid']],
  },
  {
    name: 'a map has any members, all with one type',
    data: { name: 'a', labels: { x: 1 } },
    want: [['labels.x', 'Invalid']],
  },
  {
    name: 'all errors are returned together',
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

test('an unknown member is valid, or an error if that is requested', () => {
  const data = { name: 'a', nmae: 'b', list: [{ extra: 1 }], labels: { extra: 'x' } }
  expect(open(data)).toEqual([])
  expect(strict(data).map(({ path, code }) => [path, code])).toEqual([
    ['nmae', 'NotSupported'],
    ['list[0].extra', 'NotSupported'],
  ])
})

describe('a schema is compiled', () => {
  function countCompilations() {
    const compile = vi.spyOn(Ajv.prototype, 'compile')
    onTestFinished(() => compile.mockRestore())
    return compile
  }

  test('when its validator is first called, and once', () => {
    const compile = countCompilations()
    const validate = compileSchema({ type: 'string' })
    expect(compile).toHaveBeenCalledTimes(0)
    expect([validate('a'), validate(1).length, validate('b')]).toEqual([[], 1, []])
    expect(compile).toHaveBeenCalledTimes(1)
  })

  test('by compilePendingSchemas, if its validator was never called', () => {
    const validate = compileSchema({ type: 'string' })
    compilePendingSchemas()
    const compile = countCompilations()
    expect(validate(1)).toMatchObject([{ path: '(root)' }])
    compilePendingSchemas()
    expect(compile).toHaveBeenCalledTimes(0)
  })
})
