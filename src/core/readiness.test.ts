import { expect, test } from 'vitest'
import { readiness } from './readiness.ts'

const why = { reason: 'Located', message: 'the data is in member1' }

test.each([
  { name: 'ready', given: { isReady: true, isStalled: false }, want: [['Ready', 'True']] },
  { name: 'waiting', given: { isReady: false, isStalled: false }, want: [['Ready', 'False']] },
  {
    name: 'failed',
    given: { isReady: false, isStalled: true },
    want: [
      ['Ready', 'False'],
      ['Stalled', 'True'],
    ],
  },
])('an object that is $name has the conditions that tools wait for', ({ given, want }) => {
  const conditions = readiness({ ...given, ...why })
  expect(conditions.map(({ type, status }) => [type, status])).toEqual(want)
  for (const condition of conditions) expect(condition).toMatchObject(why)
})
