import { expect, test } from 'vitest'
import { makeCluster, makeSource, NOW } from '../../../test/builders.ts'
import type { Taint } from '../../api/node.ts'
import { leaveCluster, loseCluster, moveData, outdateSource, taintCluster } from './suppose.ts'

const now = new Date(NOW).toISOString()
const full: Taint = { key: 'disk', value: 'full', effect: 'NoSchedule' }
const slow: Taint = { key: 'disk', value: 'slow', effect: 'NoSchedule' }
const broken: Taint = { key: 'disk', value: 'broken', effect: 'NoExecute' }
const other: Taint = { key: 'team', value: 'a', effect: 'NoSchedule' }

test.each<{ name: string; taints?: Taint[]; taint: Taint; want: Taint[] }>([
  { name: 'is the first one', taint: full, want: [full] },
  {
    name: 'follows those of other keys and effects',
    taints: [other, broken],
    taint: full,
    want: [other, broken, full],
  },
  {
    name: 'replaces one with the same key and effect',
    taints: [other, slow, broken],
    taint: full,
    want: [other, full, broken],
  },
])('a new taint $name', ({ taints, taint, want }) => {
  const cluster = makeCluster('m1', { region: 'eu', ...(taints && { taints }) })
  expect(taintCluster(cluster, taint)).toEqual({ ...cluster, spec: { region: 'eu', taints: want } })
})

test.each([
  { syncMode: 'Push', key: 'cluster.karmada.io/not-ready' },
  { syncMode: 'Pull', key: 'cluster.karmada.io/unreachable' },
])('a lost $syncMode cluster takes no workload, and evicts those that it has', ({ syncMode, key }) => {
  expect(loseCluster(makeCluster('m1', { syncMode })).spec?.taints).toEqual([
    { key, effect: 'NoSchedule' },
    { key, effect: 'NoExecute' },
  ])
})

test('a cluster that leaves is being deleted, and is the same otherwise', () => {
  const cluster = makeCluster('m1', { region: 'eu' }, { tier: 'gold' })
  expect(leaveCluster(cluster, NOW)).toEqual({
    ...cluster,
    metadata: { name: 'm1', labels: { tier: 'gold' }, deletionTimestamp: now },
  })
})

test('moved data is available in its new clusters from now on, and keeps its size', () => {
  const source = makeSource(
    { locality: { clusterNames: ['m1'], bytes: 7 } },
    {
      status: {
        phase: 'Unavailable',
        lastResolvedTime: '2020-01-01T00:00:00Z',
        observedGeneration: 3,
        conditions: [{ type: 'Resolved', status: 'False', reason: 'Gone', message: 'x', lastTransitionTime: now }],
      },
    },
  )
  expect(moveData(source, ['m3', 'm2', 'm3'], NOW)).toEqual({
    ...source,
    spec: { ...source.spec, locality: { clusterNames: ['m2', 'm3'], bytes: 7 } },
    status: { phase: 'Available', lastResolvedTime: now, observedGeneration: 3 },
  })
})

test('data without a status is available after its move', () => {
  expect(moveData(makeSource(), ['m1'], NOW).status).toEqual({ phase: 'Available', lastResolvedTime: now })
})

test('an outdated source keeps its location, which its data system confirmed long ago', () => {
  const source = makeSource({}, { status: { phase: 'Available', lastResolvedTime: now } })
  expect(outdateSource(source)).toEqual({
    ...source,
    status: { phase: 'Available', lastResolvedTime: '1970-01-01T00:00:00.000Z' },
  })
})
