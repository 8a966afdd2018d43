import { expect, test } from 'vitest'
import { annotationSizeErrors } from './annotation-limit.ts'
import { MAX_ANNOTATIONS_BYTES } from './object-size.ts'

test.each([
  {
    name: 'up to the limit of the API server are valid',
    annotations: { a: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 1) },
    want: 0,
  },
  { name: 'above it are an error', annotations: { a: 'x'.repeat(MAX_ANNOTATIONS_BYTES) }, want: 1 },
  {
    name: 'count with what a decision adds',
    annotations: { a: 'x'.repeat(MAX_ANNOTATIONS_BYTES - 1) },
    added: 1,
    want: 1,
  },
  { name: 'may be absent', annotations: undefined, want: 0 },
])('annotations $name', ({ annotations, added, want }) => {
  const message = 'must have at most 262144 bytes'
  expect(annotationSizeErrors(annotations, 'metadata.annotations', added)).toEqual(
    Array.from({ length: want }, () => ({ path: 'metadata.annotations', code: 'TooLong', message })),
  )
})
