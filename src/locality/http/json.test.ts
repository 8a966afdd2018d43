/** Tests JSON answers: their number of values is limited, and an error does not quote them. */
import { expect, test } from 'vitest'
import { MAX_JSON_VALUES } from '../../base/json-size.ts'
import { LocalityError } from '../locality.ts'
import { readJson, tryJson } from './json.ts'

const what = 'GET http://catalog/tables'
const answer = (text: string) => ({ what, text, status: 200, headers: {} })
const lists = (count: number) => `[${'[],'.repeat(count - 2)}[]]`

test('the largest number of values is parsed', () => {
  expect(readJson(answer(lists(MAX_JSON_VALUES / 2)))).toHaveLength(MAX_JSON_VALUES / 2 - 1)
})

test.each([
  { name: 'more values than the limit', text: lists(MAX_JSON_VALUES), want: 'the answer has more than 500000 values' },
  { name: 'no text', text: ' ', want: 'the answer is nothing, not JSON' },
  { name: 'an error page of a proxy', text: '<html>token=abc</html>', want: 'the answer is HTML or XML, not JSON' },
  { name: 'incomplete JSON', text: '{"token": "abc"', want: 'the answer is something else, not JSON' },
])('$name is an invalid response, which is not quoted', ({ text, want }) => {
  expect(() => readJson(answer(text))).toThrow(new LocalityError('invalidResponse', `${what}: ${want}`))
  expect(tryJson(answer(text))).toBeUndefined()
})
