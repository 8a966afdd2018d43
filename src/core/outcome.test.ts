import { expect, test } from 'vitest'
import { cut, denyErrors } from './outcome.ts'

test.each([
  { name: 'a short text stays', text: 'a'.repeat(120), want: 'a'.repeat(120) },
  {
    name: 'a longer text ends with an ellipsis, within the limit',
    text: 'a'.repeat(121),
    want: `${'a'.repeat(119)}…`,
  },
])('$name', ({ text, want }) => {
  expect(cut(text)).toBe(want)
})

test('an object without errors is allowed; one with errors is rejected with all', () => {
  const errors = [{ path: 'spec.system', code: 'Required' as const, message: 'is required' }]
  expect([denyErrors([]), denyErrors(errors)]).toEqual([{ kind: 'allow' }, { kind: 'deny', errors }])
})
