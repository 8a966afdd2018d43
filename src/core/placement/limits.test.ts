import { describe, expect, test } from 'vitest'
import { located, makeCluster } from '../../../test/builders.ts'
import type { ClusterAffinity, ClusterAffinityTerm, Placement, PlacementAffinity } from '../../api/karmada.ts'
import { newestRules } from '../karmada-rules.ts'
import type { DataConstraint } from './constraint.ts'
import { combineClaims } from './constraint.ts'
import {
  comparisons,
  MAX_AFFINITIES,
  MAX_COMPARISONS,
  MAX_PREFERRED_CLUSTERS,
  MAX_PREFERRED_GROUPS,
  MAX_TIERS,
  MAX_WRITTEN_NAMES,
} from './limits.ts'
import { narrowPlacement } from './narrow.ts'
import { widenedBy } from './widened.ts'

const names = (count: number) => Array.from({ length: count }, (_, i) => `c${i}`)
const groups = (count: number, of: (i: number) => Omit<ClusterAffinityTerm, 'affinityName'> = () => ({})) =>
  Array.from({ length: count }, (_, i) => ({ affinityName: `g${i}`, ...of(i) }))

/** Narrows, and counts the look-ups of clusters: a measure of the cost that does not depend on the machine. */
function narrow(base: Placement, constraint: DataConstraint) {
  let lookups = 0
  const clusters = (name: string) => {
    lookups++
    return makeCluster(name)
  }
  const narrowing = narrowPlacement({ base, constraint, clusters, usesOverflow: true, rules: newestRules })
  return { narrowing, lookups }
}

describe('a placement that is too large is unsatisfiable without a look-up, with a remedy', () => {
  const expressions = Array.from({ length: 1000 }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  test.each<{ name: string; base: Placement }>([
    { name: 'groups without names', base: { clusterAffinities: groups(300) } },
    {
      name: 'groups with one name each',
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

  test('groups with more names than fit into an object', () => {
    const wanted = names(MAX_WRITTEN_NAMES / 8 + 1)
    expect(narrow({ clusterAffinities: groups(8) }, { required: wanted }).narrowing.kind).toBe('unsatisfiable')
  })

  test('groups whose new names do not fit into an object', () => {
    const { narrowing } = narrow({ clusterAffinities: groups(50) }, { required: names(2500) })
    expect(narrowing.kind).toBe('unsatisfiable')
  })
})

describe('the cost of a large placement with names is proportional to its size', () => {
  test.each<{ name: string; size?: number; base: (size: number) => Placement }>([
    { name: 'names of one affinity', base: (size) => ({ clusterAffinity: { clusterNames: names(size) } }) },
    {
      name: 'groups with one name each',
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

describe('a placement at a limit is narrowed:', () => {
  const absent = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  const one = { labelSelector: { matchLabels: { 'example.org/has': 'nothing' } } }

  test('the maximum number of comparisons', () => {
    const wanted = names(MAX_COMPARISONS / 40 / 2)
    const base = {
      clusterAffinities: [
        ...groups(39, () => one),
        ...groups(1, () => ({ exclude: ['c0'], labelSelector: { matchExpressions: absent(1) } })),
      ],
    }
    expect(narrow(base, { required: wanted }).narrowing).toMatchObject({ allowed: wanted.slice(1).sort() })
  })

  test('the maximum number of affinities', () => {
    const base = { clusterAffinities: groups(MAX_AFFINITIES, () => ({ clusterNames: ['c1'] })) }
    expect(narrow(base, { required: ['c1'] }).narrowing).toMatchObject({ allowed: ['c1'] })
  })

  test('the maximum number of names in an object', () => {
    const wanted = names(MAX_WRITTEN_NAMES / 8)
    expect(narrow({ clusterAffinities: groups(8) }, { required: wanted }).narrowing.kind).toBe('narrowed')
  })

  test('names that the policy has already, in groups and in overflow, are not counted', () => {
    const wanted = names(MAX_WRITTEN_NAMES / 8)
    const [own, overflow] = [wanted.slice(0, 1000), wanted.slice(1000)]
    const named = {
      affinityName: 'named',
      clusterNames: own,
      overflowAffinities: [{ affinityName: 'o', clusterNames: overflow }],
    }
    expect(narrow({ clusterAffinities: [...groups(8), named] }, { required: wanted }).narrowing.kind).toBe('narrowed')
  })

  test('the maximum number of groups for preferred data', () => {
    const base = { clusterAffinities: groups(MAX_PREFERRED_GROUPS, () => ({ clusterNames: ['c1', 'c2'] })) }
    const { narrowing } = narrow(base, { preferred: [['c1']] })
    expect(narrowing.kind === 'narrowed' && narrowing.affinity.clusterAffinities).toHaveLength(2 * MAX_PREFERRED_GROUPS)
  })

  test('the maximum number of comparisons with preferred clusters', () => {
    const base = { clusterAffinity: { exclude: ['c0'], labelSelector: { matchExpressions: absent(199) } } }
    const { narrowing } = narrow(base, { preferred: [names(MAX_COMPARISONS / 200)] })
    expect(narrowing.kind === 'narrowed' && narrowing.affinity.clusterAffinities).toHaveLength(2)
  })

  test('the maximum number of comparisons of a result', () => {
    const result = {
      clusterAffinity: { clusterNames: names(MAX_COMPARISONS / 200), labelSelector: { matchExpressions: absent(199) } },
    }
    const widened = widenedBy(
      { clusterAffinity: { clusterNames: ['other'] } },
      result,
      (name) => makeCluster(name),
      true,
      newestRules,
    )
    expect(widened).toEqual(result.clusterAffinity.clusterNames.sort())
  })
})

describe('preferred data', () => {
  test('with too many comparisons is ignored: the base applies', () => {
    const expressions = Array.from({ length: 200 }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
    const base = { clusterAffinity: { exclude: ['c0'], labelSelector: { matchExpressions: expressions } } }
    const { narrowing, lookups } = narrow(base, { preferred: [names(600), names(1200).slice(600)] })
    expect(narrowing).toMatchObject({ affinity: base })
    expect(lookups).toBe(0)
  })

  test('with more tiers than allowed groups is ignored', () => {
    const base = {
      clusterAffinities: groups(MAX_PREFERRED_GROUPS / 2 + 1, () => ({ clusterNames: ['c1', 'c2', 'c3'] })),
    }
    expect(narrow(base, { preferred: [['c1'], ['c2']] }).narrowing).toMatchObject({ affinity: base })
  })

  test('of many different sizes has few tiers; the last one has the remainder', () => {
    const claims = names(40).map((name, i) =>
      located([name], { claim: `default/${name}`, enforcement: 'Preferred', bytes: 1000 - i }),
    )
    const { preferred = [] } = combineClaims(claims, undefined)
    expect(preferred).toHaveLength(MAX_TIERS)
    expect(preferred.at(-1)).toHaveLength(40 - MAX_TIERS + 1)
  })

  test('in very many clusters is limited to those with the most bytes', () => {
    const claims = [
      located(names(3000), { claim: 'default/a', enforcement: 'Preferred', bytes: 1 }),
      located(['c2999'], { claim: 'default/b', enforcement: 'Preferred', bytes: 1 }),
    ]
    const { preferred = [] } = combineClaims(claims, undefined)
    expect(preferred[0]).toEqual(['c2999'])
    expect(preferred.flat()).toHaveLength(MAX_PREFERRED_CLUSTERS)
  })

  test('for too many groups is ignored: the base applies', () => {
    const base = { clusterAffinities: groups(MAX_PREFERRED_GROUPS + 1, () => ({ clusterNames: ['c1', 'c2'] })) }
    const { narrowing } = narrow(base, { preferred: [['c1']] })
    expect(narrowing).toMatchObject({ affinity: base })
  })
})

test('two placements that are too large to compare count as widened', () => {
  const expressions = Array.from({ length: MAX_COMPARISONS }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  const base: PlacementAffinity = { clusterAffinity: { labelSelector: { matchExpressions: expressions } } }
  const result: PlacementAffinity = { clusterAffinity: { clusterNames: names(10) } }
  expect(widenedBy(base, result, (name) => makeCluster(name), true, newestRules)).toEqual(['*'])
})

test('a result with too many comparisons counts as widened, even if none are needed', () => {
  const expressions = Array.from({ length: 200 }, (_, i) => ({ key: `k${i}`, operator: 'DoesNotExist' }))
  const result = { clusterAffinity: { clusterNames: names(1000), labelSelector: { matchExpressions: expressions } } }
  const base = { clusterAffinity: { clusterNames: ['other'] } }
  expect(widenedBy(base, result, (name) => makeCluster(name), true, newestRules)).toEqual(['*'])
})

test.each<{ name: string; terms: ClusterAffinity[]; clusters: number; want: number }>([
  { name: 'no affinity needs no comparison', terms: [], clusters: 10, want: 0 },
  { name: 'names alone need no comparison', terms: [{ clusterNames: ['c1', 'c2'] }], clusters: 10, want: 0 },
  { name: 'an empty affinity needs one per cluster', terms: [{}], clusters: 10, want: 10 },
  {
    name: 'each requirement of a selector needs one more',
    terms: [
      {
        labelSelector: { matchLabels: { a: '1' }, matchExpressions: [{ key: 'b', operator: 'Exists' }] },
        fieldSelector: { matchExpressions: [{ key: 'region', operator: 'Exists' }] },
      },
    ],
    clusters: 10,
    want: 40,
  },
  {
    name: 'names with a selector need one per name',
    terms: [{ clusterNames: ['c1', 'c2'], labelSelector: { matchLabels: { a: '1' } } }],
    clusters: 10,
    want: 4,
  },
  {
    name: 'or one per cluster, if there are fewer clusters',
    terms: [{ clusterNames: ['c1', 'c2'], labelSelector: { matchLabels: { a: '1' } } }],
    clusters: 1,
    want: 2,
  },
  { name: 'several affinities add up', terms: [{}, { clusterNames: ['c1'] }, {}], clusters: 10, want: 20 },
])('$name', ({ terms, clusters, want }) => {
  expect(comparisons(terms, clusters)).toBe(want)
})
