import { expect, test } from 'vitest'
import { problemBody } from './problem.ts'

test('a message with text of the caller has no control characters for a terminal', () => {
  const { error } = JSON.parse(problemBody(400, 'spec.\u001b[2Ja\u0007\u202eb: is unknown'))

  expect(error).toEqual({ status: 400, message: 'spec. [2Ja b: is unknown' })
})
