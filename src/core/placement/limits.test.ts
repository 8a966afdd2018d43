import { describe, expect, test } from 'vitest'
import { located, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'
import type { DataConstraint } from './constraint.ts'
import { constraintOf } from './constraint.ts'
import { MAX_AFFINITIES, MAX_COMPARISONS, MAX_PREFERRED_CLUSTERS, MAX_PREFERRED_GROUPS, MAX_TIERS } from './limits.ts'
import { narrowPlacement } from './narrow.ts'
import { widenedBy } from './widened.ts'

const names = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`)
const groups = (count: number, of: (i: number) => Omit<ClusterAffinityTerm, 'affinityName'> = () => ({})) =>
  Array.from({ length: count }, (_, i) => ({ affinityName: `g${i}`, ...of(i) }))

/** Narrows, and counts how often a cluster was looked up: the cost, whatever the machine. */
function narrow(base: Placement, constraint: DataConstraint) {
  let lookups = 0
  const clusters = (name: string) => {
    lookups++
    return makeCluster(name)
  }
  const narrowing = narrowPlacement({ base, constraint, clusters, isWorkload: true })
  return { narrowing, lookups }
}

describe('what is too large to compare is unsatisfiable, at no cost, and says what to do', () => {
  const expressions = Array.from({ length: 1000 }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  test.each<{ name: string; base: Placement }>([
    { name: 'groups without names', base: { clusterAffinities: groups(300) } },
    {
      name: 'groups of one name',
      base: { clusterAffinities: groups(MAX_AFFINITIES + 1, () => ({ clusterNames: ['c1'] })) },
    },
    {
      name: 'requirements of one selector',
      base: { clusterAffinity: { labelSelector: { matchExpressions: expressions } } },
    },
    {
      name: 'requirements of an overflow tier',
      base: {
        clusterAffinities: groups(1, () => ({
          overflowAffinities: [{ affinityName: 'o', fieldSelector: { matchExpressions: expressions } }],
        })),
      },
    },
  ])('$name', ({ base }) => {
    const { narrowing, lookups } = narrow(base, { required: names(2500) })
    expect(narrowing).toEqual({
      kind: 'unsatisfiable',
      reason: expect.stringContaining('too many to compare; use fewer, or name fewer clusters'),
    })
    expect(lookups).toBe(0)
  })

  test('groups whose names would not fit an object', () => {
    const { narrowing } = narrow({ clusterAffinities: groups(50) }, { required: names(2500) })
    expect(narrowing.kind).toBe('unsatisfiable')
  })
})

describe('what is large but named costs as much as it is long', () => {
  test.each<{ name: string; size?: number; base: (size: number) => Placement }>([
    { name: 'names of one affinity', base: (size) => ({ clusterAffinity: { clusterNames: names(size) } }) },
    {
      name: 'groups of one name',
      size: 1000,
      base: (size) => ({ clusterAffinities: groups(size, (i) => ({ clusterNames: [`c${i}`] })) }),
    },
    {
      name: 'excluded names',
      base: (size) => ({ clusterAffinity: { exclude: names(size).map((name) => `x${name}`) } }),
    },
  ])('$name', ({ size = 20_000, base }) => {
    const lookupsFor = (count: number) => narrow(base(count), { required: names(500) }).lookups
    expect(lookupsFor(size)).toBeLessThanOrEqual(2.5 * Math.max(500, lookupsFor(size / 2)))
    expect(narrow(base(size), { required: names(500) }).narrowing.kind).toBe('narrowed')
  })
})

describe('preferred data', () => {
  test('of many different sizes has a limited number of tiers, and the last one has the rest', () => {
    const claims = names(40).map((name, i) =>
      located([name], { claim: `default/${name}`, enforcement: 'Preferred', bytes: 1000 - i }),
    )
    const { preferred = [] } = constraintOf(claims)
    expect(preferred).toHaveLength(MAX_TIERS)
    expect(preferred.at(-1)).toHaveLength(40 - MAX_TIERS + 1)
  })

  test('in very many clusters counts those with the most of it', () => {
    const claims = [
      located(names(3000), { claim: 'default/a', enforcement: 'Preferred', bytes: 1 }),
      located(['c2999'], { claim: 'default/b', enforcement: 'Preferred', bytes: 1 }),
    ]
    const { preferred = [] } = constraintOf(claims)
    expect(preferred[0]).toEqual(['c2999'])
    expect(preferred.flat()).toHaveLength(MAX_PREFERRED_CLUSTERS)
  })

  test('of too many groups is not preferred: the base stands', () => {
    const base = { clusterAffinities: groups(MAX_PREFERRED_GROUPS + 1, () => ({ clusterNames: ['c1', 'c2'] })) }
    const { narrowing } = narrow(base, { preferred: [['c1']] })
    expect(narrowing).toMatchObject({ affinity: base })
  })
})

test('two placements that are too large to compare count as widened: nothing is narrowed by guess', () => {
  const expressions = Array.from({ length: MAX_COMPARISONS }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  const base: PlacementAffinity = { clusterAffinity: { labelSelector: { matchExpressions: expressions } } }
  const result: PlacementAffinity = { clusterAffinity: { clusterNames: names(10) } }
  expect(widenedBy(base, result, (name) => makeCluster(name), true)).toEqual(['*'])
})
