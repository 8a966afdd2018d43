import { expect, test } from 'vitest'
import { annotationSizeErrors, withAnnotations } from './annotations.ts'
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

test.each([
  { name: 'a new text is added', annotations: undefined, changes: { a: '1' }, want: { a: '1' } },
  { name: 'the others stay', annotations: { b: '2' }, changes: { a: '1' }, want: { a: '1', b: '2' } },
  { name: 'a text is replaced', annotations: { a: '0', b: '2' }, changes: { a: '1' }, want: { a: '1', b: '2' } },
  {
    name: 'an undefined text removes one',
    annotations: { a: '0', b: '2' },
    changes: { a: undefined },
    want: { b: '2' },
  },
])('$name', ({ annotations, changes, want }) => {
  expect({ ...withAnnotations(annotations, changes) }).toEqual(want)
})

test('an annotation with the name __proto__ is kept', () => {
  const annotations: Record<string, string> = JSON.parse('{"__proto__":"x"}')
  expect(Object.entries(withAnnotations(annotations, { a: '1' }))).toEqual([
    ['__proto__', 'x'],
    ['a', '1'],
  ])
})
