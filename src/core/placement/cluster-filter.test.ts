import { expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinity } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import type { ClusterLookup } from './affinity.ts'
import { type ClusterFilter, clusterFilter, clusterSet, narrowAffinity } from './cluster-filter.ts'

test.each([
  { name: 'out of order', given: ['c2', 'c1'], want: ['c1', 'c2'] },
  { name: 'with a duplicate', given: ['c1', 'c1'], want: ['c1'] },
  { name: 'without any name', given: [], want: [] },
])('a list $name becomes sorted and unique', ({ given, want }) => {
  expect(clusterSet(given).names).toEqual(want)
})

test('a sorted list is shared, so that its set is cached', () => {
  const names = ['c1', 'c2', 'c3']
  expect(clusterSet(names).names).toBe(names)
})

test('a narrowing iterates over the shorter list only', () => {
  const names = Array.from({ length: 100 }, (_, i) => `c${i}`)
  const few = ['c5', 'c3']
  const looksOf = (named: string[], wanted: string[]) => {
    let looks = 0
    const filter = clusterFilter({ clusterNames: named }, (name) => makeCluster(name), newestRules)
    const counted: ClusterFilter = {
      ...filter,
      allows(name) {
        looks++
        return filter.allows(name)
      },
    }
    expect(narrowAffinity({ clusterNames: named }, counted, clusterSet(wanted))).toEqual({ clusterNames: ['c3', 'c5'] })
    return looks
  }
  expect([looksOf(few, names), looksOf(names, few)]).toEqual([2, 2])
})

const clusters = [
  makeCluster('c1', { region: 'eu' }, { tier: 'core' }),
  makeCluster('c2', { region: 'us' }),
  makeCluster('c3'),
]
const known = lookup(...clusters)
const inEurope = { matchExpressions: [{ key: 'region', operator: 'In' as const, values: ['eu'] }] }

test.each<{ name: string; affinity: ClusterAffinity; want: string[] }>([
  { name: 'everything that exists without a restriction', affinity: {}, want: ['c1', 'c2', 'c3'] },
  {
    name: 'everything that exists by an empty list',
    affinity: { clusterNames: [], exclude: [] },
    want: ['c1', 'c2', 'c3'],
  },
  { name: 'named clusters that exist', affinity: { clusterNames: ['c2', 'gone'] }, want: ['c2'] },
  { name: 'no excluded cluster', affinity: { exclude: ['c1', 'c3'] }, want: ['c2'] },
  {
    name: 'no excluded cluster, also if it is named',
    affinity: { clusterNames: ['c1', 'c2'], exclude: ['c1'] },
    want: ['c2'],
  },
  { name: 'clusters with the labels', affinity: { labelSelector: { matchLabels: { tier: 'core' } } }, want: ['c1'] },
  { name: 'clusters with the fields', affinity: { fieldSelector: inEurope }, want: ['c1'] },
  {
    name: 'clusters that match both selectors',
    affinity: { labelSelector: { matchLabels: { tier: 'edge' } }, fieldSelector: inEurope },
    want: [],
  },
])('a filter allows $name', ({ affinity, want }) => {
  const filter = clusterFilter(affinity, known, newestRules)
  expect(['c1', 'c2', 'c3', 'gone'].filter((name) => filter.allows(name))).toEqual(want)
})

test('a filter allows each name if Clusters cannot be read', () => {
  const filter = clusterFilter({ exclude: ['c1'], fieldSelector: inEurope }, undefined, newestRules)
  expect(['c1', 'c2', 'gone'].map((name) => filter.allows(name))).toEqual([false, true, true])
})

test('a long list allows each of its names if Clusters cannot be read', () => {
  const clusterNames = Array.from({ length: 2000 }, (_, i) => `c${i}`)
  const filter = clusterFilter({ clusterNames }, undefined, newestRules)
  expect(['c0', 'c1999', 'c2000'].map((name) => filter.allows(name))).toEqual([true, true, false])
})

test('of a long list, existing clusters are compiled once for each set of clusters', () => {
  const many = Array.from({ length: 2000 }, (_, i) => `c${i}`)
  const looksFor = (find: ClusterLookup) => {
    const looked: string[] = []
    const counting: ClusterLookup = (name) => {
      looked.push(name)
      return find(name)
    }
    for (const _ of [1, 2]) clusterFilter({ clusterNames: many }, counting, newestRules)
    const { allows } = clusterFilter({ clusterNames: many }, counting, newestRules)
    return { looked: looked.length, allowed: many.filter((name) => allows(name)) }
  }
  expect(looksFor(known)).toMatchObject({ looked: 2000, allowed: ['c1', 'c2', 'c3'] })
  expect(looksFor(lookup(makeCluster('c7')))).toMatchObject({ looked: 2000, allowed: ['c7'] })
})
