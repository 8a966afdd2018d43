import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { allowsMoreThanData } from './kept-to-data.ts'

const locality = { state: 'Narrowed', message: 'x', claims: [], required: ['m1', 'm2'] }
const names = (...clusterNames: string[]): Placement => ({ clusterAffinity: { clusterNames } })

function narrowed(spec: Partial<ResourceBinding['spec']> = {}, note: object = {}): ResourceBinding {
  const annotations = { [LOCALITY_ANNOTATION]: JSON.stringify({ ...locality, ...note }) }
  return makeBinding({ placement: names('m1'), clusters: [], ...spec }, { annotations })
}

const group = (affinityName: string, clusterNames: string[], more = {}) => ({ affinityName, clusterNames, ...more })

test.each<{ name: string; placement: Placement; note?: object; want: boolean }>([
  { name: 'its data', placement: names('m1', 'm2'), want: false },
  { name: 'a part of its data', placement: names('m2'), want: false },
  { name: 'one more cluster', placement: names('m1', 'm3'), want: true },
  { name: 'every cluster', placement: {}, want: true },
  { name: 'every cluster, by an empty list', placement: names(), want: true },
  { name: 'clusters with a label', placement: { clusterAffinity: { labelSelector: {} } }, want: true },
  {
    name: 'its data in groups',
    placement: { clusterAffinities: [group('a', ['m1']), group('b', ['m2'])] },
    want: false,
  },
  {
    name: 'more in the second group',
    placement: { clusterAffinities: [group('a', ['m1']), group('b', ['m3'])] },
    want: true,
  },
  {
    name: 'more in an overflow tier',
    placement: { clusterAffinities: [group('a', ['m1'], { overflowAffinities: [{ clusterNames: ['m3'] }] })] },
    want: true,
  },
  { name: 'everything, after it was relaxed', placement: {}, note: { state: 'Relaxed' }, want: false },
  {
    name: 'everything, if only a digest is known',
    placement: {},
    note: { required: undefined, requiredDigest: 'x' },
    want: false,
  },
  {
    name: 'everything, if its data is only preferred',
    placement: {},
    note: { required: undefined, preferred: [['m1']] },
    want: false,
  },
])('a placement that allows $name: more than the data is $want', ({ placement, note, want }) => {
  expect(allowsMoreThanData(narrowed({ placement }, note))).toBe(want)
})
