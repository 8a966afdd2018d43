import { describe, expect, test } from 'vitest'
import { lookup, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinityTerm } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import { placementFilter } from './placement-filter.ts'

const clusters = lookup(makeCluster('c1', {}, { tier: 'core' }), makeCluster('c2', {}, { tier: 'edge' }), 'c3', 'c4')
const group = (affinityName: string, ...clusterNames: string[]): ClusterAffinityTerm => ({ affinityName, clusterNames })
const core: ClusterAffinityTerm = { affinityName: 'core', labelSelector: { matchLabels: { tier: 'core' } } }

test.each([{}, { clusterAffinities: [] }])(
  'a placement without affinity allows every existing cluster: %j',
  (affinity) => {
    const filter = placementFilter(affinity, clusters, true, newestRules)
    expect([filter.allows('c1'), filter.allows('gone'), filter.compared()]).toEqual([true, false, 0])
    expect(placementFilter(affinity, undefined, true, newestRules).allows('gone')).toBe(true)
  },
)

const few = [group('a', 'c1'), group('b', 'c2'), group('c', 'c2'), core]
const many = [group('a', 'c3'), group('b', 'c2'), group('c', 'c2', 'c3'), group('d', 'gone'), core]

describe.each([
  { name: 'few groups', groups: few, allowed: ['c1', 'c2'] },
  { name: 'many groups', groups: many, allowed: ['c1', 'c2', 'c3'] },
])('$name', ({ groups, allowed }) => {
  test('allow a cluster that any of them allows, at the first and the second call', () => {
    const filter = placementFilter({ clusterAffinities: groups }, clusters, true, newestRules)
    const answers = () => ['c1', 'c2', 'c3', 'c4', 'gone'].filter((name) => filter.allows(name))
    expect([answers(), answers()]).toEqual([allowed, allowed])
  })
})

test('a cluster that several groups name is allowed if any of them allows it', () => {
  const never = { labelSelector: { matchLabels: { tier: 'none' } } }
  const groups = [
    { ...group('a', 'c1'), ...never },
    group('b', 'c1'),
    group('c', 'c2'),
    { ...group('d', 'c2'), ...never },
    group('e', 'c3'),
  ]
  const filter = placementFilter({ clusterAffinities: groups }, clusters, true, newestRules)
  expect(['c1', 'c2', 'c3', 'c4'].filter((name) => filter.allows(name))).toEqual(['c1', 'c2', 'c3'])
})

test('many groups without names are evaluated as well: any of them may allow a cluster', () => {
  const edge: ClusterAffinityTerm = { affinityName: 'edge', labelSelector: { matchLabels: { tier: 'edge' } } }
  const filter = placementFilter({ clusterAffinities: [...many, edge] }, clusters, true, newestRules)
  expect(['c1', 'c2', 'c4'].map((name) => filter.allows(name))).toEqual([true, true, false])
})

describe('the comparisons with selectors', () => {
  test('of few groups are counted at each call', () => {
    const filter = placementFilter({ clusterAffinities: few }, clusters, true, newestRules)
    expect(filter.compared()).toBe(0)
    for (const name of ['c1', 'c1', 'c4']) filter.allows(name)
    expect(filter.compared()).toBe(3 * 2)
  })

  test('of many groups are counted once per cluster, but not for one that a group names', () => {
    const filter = placementFilter({ clusterAffinities: many }, clusters, true, newestRules)
    expect(filter.compared()).toBe(0)
    for (const name of ['c2', 'c1', 'c1', 'c4', 'c4']) filter.allows(name)
    expect(filter.compared()).toBe(2 * 2)
  })

  test('of many groups are not counted for groups with other names', () => {
    const named = { ...group('named', 'c3'), labelSelector: { matchLabels: { tier: 'core' } } }
    const filter = placementFilter({ clusterAffinities: [...many, named] }, clusters, true, newestRules)
    filter.allows('c4')
    expect(filter.compared()).toBe(2)
  })
})
