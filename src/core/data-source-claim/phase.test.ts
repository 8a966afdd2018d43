import { expect, test } from 'vitest'
import { makeSource } from '../../../test/builders.ts'
import type { Answer } from '../data-source/locate.ts'
import { phaseOfAnswer } from './phase.ts'

const located: Answer = { kind: 'located', clusters: ['member1'], bytes: undefined }
const nowhere: Answer = { kind: 'nowhere', reason: '' }
const unavailable = makeSource({}, { status: { phase: 'Unavailable' } })

test.each([
  { name: 'located data', answer: located, source: makeSource(), want: 'Bound' },
  { name: 'data in none of the clusters', answer: nowhere, source: makeSource(), want: 'Bound' },
  { name: 'data that does not exist', answer: nowhere, source: unavailable, want: 'Failed' },
  { name: 'no answer', answer: { kind: 'unknown', reason: '' } as const, source: undefined, want: 'Pending' },
  {
    name: 'an answer that is too old',
    answer: { kind: 'unknown', reason: '' } as const,
    source: makeSource(),
    want: 'Pending',
  },
])('$name: $want', ({ answer, source, want }) => {
  expect(phaseOfAnswer(answer, source)).toBe(want)
})
