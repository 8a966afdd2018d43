import { expect, test } from 'vitest'
import { mistypedAnnotations, ourAnnotations } from './annotation-keys.ts'

test.each([
  ['lodestone.dev/volums', 'lodestone: unknown annotation lodestone.dev/volums (did you mean lodestone.dev/volumes?)'],
  ['lodestone.dev/Volume', 'lodestone: unknown annotation lodestone.dev/Volume (did you mean lodestone.dev/volumes?)'],
  ['lodestone/volumes', 'lodestone: unknown annotation lodestone/volumes (did you mean lodestone.dev/volumes?)'],
  ['lodestone.dev/shape', 'lodestone: unknown annotation lodestone.dev/shape'],
  ['lodestone.dev/inject', 'lodestone: lodestone.dev/inject is a label, not an annotation'],
])('the key %s gets a warning', (key, warning) => {
  expect(mistypedAnnotations({ [key]: 'x' })).toEqual([warning])
})

test.each(['lodestone.dev/volumes', 'example.com/volumes', 'lodestone-operator.example.com/revision'])(
  'the key %s gets no warning',
  (key) => {
    expect(mistypedAnnotations({ [key]: 'x' })).toEqual([])
  },
)

test('the number and the length of warnings are limited', () => {
  const keys = Array.from({ length: 50 }, (_, i) => [`lodestone.dev/${'x'.repeat(200)}${i}`, ''])
  const warnings = mistypedAnnotations(Object.fromEntries(keys))
  expect(warnings).toHaveLength(5)
  expect(Math.max(...warnings.map(({ length }) => length))).toBe(120)
})

test('annotations of other tools are left out of comparisons', () => {
  const annotations = { 'lodestone.dev/volumes': 'x', 'example.com/revision': '3' }
  const object = { apiVersion: 'v1', kind: 'Pod', metadata: { annotations } }
  expect(ourAnnotations(object)).toEqual({ 'lodestone.dev/volumes': 'x' })
})

test('of many keys that resemble ours, only the first are compared with the known ones', () => {
  const annotations = Object.fromEntries(Array.from({ length: 105_000 }, (_, i) => [`lodestonedev/volume${i}`, '']))
  expect(mistypedAnnotations(annotations, annotations).length).toBeLessThanOrEqual(5)
})
