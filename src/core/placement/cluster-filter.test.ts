import { expect, test } from 'vitest'
import { makeCluster } from '../../../test/builders.ts'
import { newestRules } from '../karmada-rules.ts'
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
