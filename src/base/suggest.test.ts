import { expect, test } from 'vitest'
import { suggest } from './suggest.ts'

const KNOWN = ['endpointURL', 'region', 'verify', 'iceberg-rest', 'check-install', 'check']

test.each([
  { name: 'another case', word: 'endpointUrl', want: ' (did you mean endpointURL?)' },
  { name: 'a missing letter', word: 'regon', want: ' (did you mean region?)' },
  { name: 'two letters in the wrong order', word: 'verfiy', want: ' (did you mean verify?)' },
  { name: 'the closest of several words', word: 'verion', want: ' (did you mean region?)' },
  { name: 'the part before a hyphen', word: 'iceburg', want: ' (did you mean iceberg-rest?)' },
  { name: 'a whole word before a part', word: 'chekc', want: ' (did you mean check?)' },
  { name: 'no known word', word: 'color', want: '' },
  { name: 'an empty word', word: '', want: '' },
  { name: 'a word of a million letters', word: 'x'.repeat(1_000_000), want: '' },
])('$name: $want', ({ word, want }) => {
  expect(suggest(word, KNOWN)).toBe(want)
})

test('nothing is suggested without known words', () => {
  expect(suggest('region', [])).toBe('')
})
