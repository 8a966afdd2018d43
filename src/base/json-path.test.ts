import { expect, test } from 'vitest'
import { parseJsonPath, stringsAt, valuesAt } from './json-path.ts'

const object = {
  a: { name: 'x', list: [{ name: 'one' }, { name: '' }, { name: 3 }, null] },
  keySecret: { name: 'k' },
  tokenSecret: { name: 't' },
  deep: [[{ nested: { keySecret: { name: 'd' } } }]],
}

test.each([
  { path: '', want: [object] },
  { path: 'a.name', want: ['x'] },
  { path: 'a.list.*.name', want: ['one', '', 3] },
  { path: '$.a.list[*].name', want: ['one', '', 3] },
  { path: ".a['list'][*].name", want: ['one', '', 3] },
  { path: 'deep..name', want: ['d'] },
  { path: '*.name', want: ['x', 'k', 't'] },
  { path: '*Secret.name', want: ['k', 't'] },
  { path: '..*Secret.name', want: ['k', 't', 'd'] },
  { path: 'a.list.name', want: [] },
  { path: 'a.name.length', want: [] },
  { path: 'missing.*.name', want: [] },
  { path: 'constructor.name', want: [] },
])('the path "$path" leads to $want', ({ path, want }) => {
  expect(valuesAt(object, path)).toEqual(want)
})

test('only strings that are not empty are names', () => {
  expect(stringsAt(object, 'a.list.*.name')).toEqual(['one'])
})

test.each([undefined, null, 0, '%j has no members', []])('%j has nothing below it', (value) => {
  expect(valuesAt(value, 'a.*.b')).toEqual([])
})

test('depth and length are not limited', () => {
  let deep: unknown = { name: 'bottom' }
  for (let depth = 0; depth < 100_000; depth++) deep = [deep]
  expect(stringsAt(deep, '..name')).toEqual(['bottom'])
  expect(stringsAt(Array(300_000).fill('x'), '*')).toHaveLength(300_000)
})

test('a recursive wildcard is the value itself, and every object and list below it', () => {
  const value = { a: [{ b: 1 }], c: 'x' }
  expect(valuesAt({ value }, 'value..*')).toEqual([value, value.a, value.a[0]])
})

test.each(['a b', 'a[0]', 'a[', 'a.', 'a[*]b', '...a', 'a**', '**', 'a/b', "['']"])('%j is no path', (path) => {
  expect(parseJsonPath(path)).toEqual({ error: expect.stringMatching(/^must be a JSONPath, e.g. .*; not ".+"$/) })
})
