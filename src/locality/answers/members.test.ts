import { expect, test } from 'vitest'
import { members } from './members.ts'

test.each([
  { value: { a: 1 }, want: { a: 1 } },
  { value: [1], want: undefined },
  { value: null, want: undefined },
  { value: 'text', want: undefined },
])('the members of $value are $want', ({ value, want }) => {
  expect(members(value)).toEqual(want)
})
