import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { PlacementAffinity } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { widenedBy } from './widened.ts'

const one = (...clusterNames: string[]): PlacementAffinity => ({ clusterAffinity: { clusterNames } })
const clusters = lookup(makeCluster('c1', {}, { tier: 'core' }), makeCluster('c2', {}, { tier: 'edge' }))
const core = { labelSelector: { matchLabels: { tier: 'core' } } }

test.each<{
  name: string
  base: PlacementAffinity
  result: PlacementAffinity
  clusters?: ClusterLookup
  usesOverflow?: boolean
  want: string[]
}>([
  { name: 'a subset is no widening', base: one('c1', 'c2'), result: one('c2'), want: [] },
  {
    name: 'a cluster that the base does not name is a widening',
    base: one('c1'),
    result: one('c2', 'c1', 'c3'),
    want: ['c2', 'c3'],
  },
  { name: 'several clusters are sorted', base: one('c1'), result: one('c3', 'c2'), want: ['c2', 'c3'] },
  {
    name: 'a cluster that the base excludes is a widening',
    base: { clusterAffinity: { exclude: ['c2'] } },
    result: one('c2'),
    want: ['c2'],
  },
  {
    name: 'a cluster that the base rejects by label is a widening',
    base: { clusterAffinity: core },
    result: one('c1', 'c2'),
    clusters,
    want: ['c2'],
  },
  {
    name: 'a cluster that the result rejects as well is no widening',
    base: { clusterAffinity: core },
    result: { clusterAffinity: { ...core, clusterNames: ['c2'] } },
    clusters,
    want: [],
  },
  {
    name: 'a cluster that the result itself excludes is no widening, even if clusters cannot be read',
    base: { clusterAffinity: { clusterNames: ['c2'], exclude: ['c2'] } },
    result: { clusterAffinity: { clusterNames: ['c2'], exclude: ['c2'] } },
    want: [],
  },
  { name: 'the loss of all names is a widening', base: one('c1'), result: { clusterAffinity: {} }, want: ['*'] },
  { name: 'an empty list of names is a widening', base: one('c1'), result: one(), want: ['*'] },
  {
    name: 'the base itself is no widening',
    base: { clusterAffinity: core },
    result: { clusterAffinities: [{ affinityName: 'default', ...core }] },
    want: [],
  },
  {
    name: 'the base without its empty parts is no widening',
    base: { clusterAffinity: { exclude: [], labelSelector: {} } },
    result: { clusterAffinity: {} },
    want: [],
  },
  { name: 'a base without affinity cannot be widened', base: {}, result: { clusterAffinity: core }, want: [] },
  {
    name: 'any group of the base may allow a cluster',
    base: {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['c1'] },
        { affinityName: 'b', clusterNames: ['c2'] },
      ],
    },
    result: one('c2'),
    want: [],
  },
  {
    name: 'a cluster that the base allows only as overflow counts as widened for an object that is not a workload',
    base: {
      clusterAffinities: [
        { affinityName: 'a', clusterNames: ['c1'], overflowAffinities: [{ affinityName: 'o', clusterNames: ['c2'] }] },
      ],
    },
    result: one('c2'),
    usesOverflow: false,
    want: ['c2'],
  },
])('$name', ({ base, result, clusters: known, usesOverflow = true, want }) => {
  expect(widenedBy(base, result, known, usesOverflow, newestRules)).toEqual(want)
})

test('an affinity that the result shares with the base is not compared again', () => {
  const shared = { clusterAffinity: { clusterNames: ['c1', 'c2'] } }
  const lookups: string[] = []
  const read = (name: string) => {
    lookups.push(name)
    return clusters(name)
  }
  expect(widenedBy(shared, shared, read, true, newestRules)).toEqual([])
  expect(lookups).toEqual([])
})

test('the names of an affinity are not read again for each of them', () => {
  const clusterNames = Array.from({ length: 1000 }, (_, i) => `c${i}`)
  let reads = 0
  const clusterAffinity = {
    get clusterNames() {
      reads += 1
      return clusterNames
    },
  }
  expect(widenedBy(one('other'), { clusterAffinity }, undefined, true, newestRules)).toHaveLength(1000)
  expect(reads).toBeLessThan(20)
})
