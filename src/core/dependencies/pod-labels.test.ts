import { expect, test } from 'vitest'
import { podLabelsOf, withoutOrdinals } from './pod-labels.ts'

const workload = { apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'web' } }
const added = { 'statefulset.kubernetes.io/pod-name': '{name}-*' }

test.each<[string, unknown[], Record<string, string>, Record<string, string>[]]>([
  [
    'are those of the templates, sorted',
    [{ labels: { b: '2', a: '1' } }, { labels: { a: '0' } }],
    {},
    [{ a: '0' }, { a: '1', b: '2' }],
  ],
  ['are distinct', [{ labels: { a: '1' } }, { labels: { a: '1' } }], {}, [{ a: '1' }]],
  ['have text only', [{ labels: { a: 1, b: 'x' } }, { labels: 'x' }, undefined], {}, [{ b: 'x' }]],
  ['may be absent', [{}, { labels: {} }], {}, []],
  [
    'include those of the controller',
    [{ labels: { a: '1' } }],
    added,
    [{ a: '1', 'statefulset.kubernetes.io/pod-name': 'web-N' }],
  ],
  ['may be those of the controller alone', [], added, [{ 'statefulset.kubernetes.io/pod-name': 'web-N' }]],
])('the labels of pods %s', (_name, podMetadata, of, want) => {
  expect(podLabelsOf(workload, podMetadata, of)).toEqual(want)
})

test('a workload without a name has no labels with it', () => {
  expect(podLabelsOf({ ...workload, metadata: { generateName: 'web-' } }, [], added)).toEqual([])
})

test.each([
  [{ app: 'web-0' }, { app: 'web-0' }],
  [{ 'statefulset.kubernetes.io/pod-name': 'web-12' }, { 'statefulset.kubernetes.io/pod-name': 'web-N' }],
  [
    { app: 'web', 'apps.kubernetes.io/pod-index': '0' },
    { app: 'web', 'apps.kubernetes.io/pod-index': 'N' },
  ],
  [{ 'statefulset.kubernetes.io/pod-name': 'web' }, { 'statefulset.kubernetes.io/pod-name': 'web' }],
])('the selector %j selects pods with %j', (selector, want) => {
  expect(withoutOrdinals(selector)).toEqual(want)
})
