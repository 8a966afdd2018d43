import { expect, test } from 'vitest'
import { makePod } from '../../../test/builders.ts'
import type { Pod } from '../../api/pod.ts'
import { defined } from '../../base/json.ts'
import { completePod } from './complete-pod.ts'

const podWith = (metadata: Pod['metadata']): Pod => ({ ...makePod('{}'), metadata })
const annotations = { 'lodestone.dev/volumes': '{"name":"mnist"}' }

test('a pod that requests volumes gets the label', () => {
  expect(completePod(podWith({ name: 'p', labels: { app: 'x' }, annotations }))).toEqual({
    pod: podWith({ name: 'p', labels: { app: 'x', 'lodestone.dev/inject': 'true' }, annotations }),
  })
})

test.each<[string, Pod['metadata'], string[] | undefined]>([
  ['that opts out stays as it is', { labels: { 'lodestone.dev/inject': 'false' }, annotations }, undefined],
  ['without annotations stays as it is', { name: 'p' }, undefined],
  [
    'with a mistyped key gets a warning',
    { annotations: { 'lodestone.dev/volums': '{}' } },
    ['lodestone: unknown annotation lodestone.dev/volums (did you mean lodestone.dev/volumes?)'],
  ],
])('a pod %s', (_name, metadata, warnings) => {
  expect(completePod(podWith(metadata))).toEqual({ outcome: defined({ kind: 'allow', warnings }) })
})
