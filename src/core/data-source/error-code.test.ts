import { expect, test } from 'vitest'
import { isTransient, systemSign } from './error-code.ts'

test.each([
  { code: 'unreachable', sign: 'fails', passes: true },
  { code: 'timeout', sign: 'fails', passes: true },
  { code: 'unavailable', sign: 'fails', passes: true },
  { code: 'throttled', sign: 'fails', passes: true },
  { code: 'serverError', sign: 'unclear', passes: true },
  { code: 'unauthorized', sign: 'unclear', passes: false },
  { code: 'rejected', sign: 'answers', passes: false },
] as const)('after an error $code the system $sign, and the error may disappear: $passes', ({ code, sign, passes }) => {
  expect([systemSign(code), isTransient(code)]).toEqual([sign, passes])
})

test('a query without an error shows that the system answers', () => {
  expect(systemSign(undefined)).toBe('answers')
})
