import { expect, test } from 'vitest'
import type { K8sObject } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { decideUnknown } from './decide-unknown.ts'

const widget = (annotations?: Record<string, string>): K8sObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: defined({ name: 'w', annotations }),
})
const REMEDY =
  'lodestone: no volumes: annotate its pod template instead, or add its kind to workloadKinds: Widget.example.com'
const warningsFor = (annotations?: Record<string, string>, stored?: K8sObject) => {
  const outcome = decideUnknown({ object: widget(annotations), stored })
  expect(outcome.kind).toBe('allow')
  return outcome.warnings ?? []
}

test.each<[string, Record<string, string> | undefined, string[]]>([
  ['without annotations gets no warning', undefined, []],
  ['with annotations of other tools gets no warning', { 'example.com/volumes': '{}' }, []],
  ['that requests a volume gets the remedy', { 'lodestone.dev/volumes': '{"name":"mnist"}' }, [REMEDY]],
  [
    'with an invalid annotation gets its errors too',
    { 'lodestone.dev/volumes': 'not json' },
    [REMEDY, expect.stringMatching(/^lodestone: metadata.annotations\[lodestone.dev\/volumes\]: is not JSON/)],
  ],
  [
    'with a mistyped key gets the right one',
    { 'lodestone.dev/volums': '{}' },
    ['lodestone: unknown annotation lodestone.dev/volums (did you mean lodestone.dev/volumes?)'],
  ],
])('an object of an unknown kind %s', (_name, annotations, want) => {
  expect(warningsFor(annotations)).toEqual(want)
})

test('an update gets warnings only if the annotations of Lodestone change', () => {
  const annotations = { 'lodestone.dev/volumes': '{"name":"mnist"}' }
  expect(warningsFor({ ...annotations, other: 'x' }, widget(annotations))).toEqual([])
  expect(warningsFor(annotations, widget())).toEqual([REMEDY])
})

test('the name of a core kind has no group', () => {
  const annotations = { 'lodestone.dev/volumes': '{"name":"mnist"}' }
  const { warnings } = decideUnknown({ object: { ...widget(annotations), apiVersion: 'v1' }, stored: undefined })
  expect(warnings).toEqual([expect.stringMatching(/: Widget$/)])
})
