import { expect, test } from 'vitest'
import { makeBinding } from '../../../test/builders.ts'
import type { Placement, ResourceBinding } from '../../api/karmada.ts'
import { LOCALITY_ANNOTATION } from '../../api/lodestone.ts'
import { allowsMoreThanData, narrowedAgain } from './kept-to-data.ts'

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
    note: { required: undefined, requiredDigest: 'f'.repeat(16) },
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

test.each<{ name: string; runs: string[]; note?: string; want: string }>([
  { name: 'of a workload that runs nowhere', runs: [], note: 'sales is in m1', want: '; now sales is in m1' },
  {
    name: 'of a workload that was scheduled meanwhile',
    runs: ['m3', 'm2'],
    note: 'sales is in m1',
    want: ', and its workload was scheduled to m2, m3; now sales is in m1',
  },
  { name: 'without a claim any more', runs: [], want: '' },
])('the Event says how the placement was changed: $name', ({ runs, note, want }) => {
  const stored = narrowed({ placement: {}, clusters: runs.map((name) => ({ name })) })
  const decided = note === undefined ? makeBinding() : narrowed({}, { message: note })
  expect(narrowedAgain(stored, decided)).toBe(`the placement was changed while Lodestone was not available${want}`)
})

test('no Event reports another narrowing if the placement allows more than the data', () => {
  expect(narrowedAgain(narrowed({ placement: {} }), narrowed({ placement: {} }))).toBeUndefined()
  expect(narrowedAgain(narrowed(), narrowed())).toBeUndefined()
})
