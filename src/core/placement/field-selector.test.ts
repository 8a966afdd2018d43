import { describe, expect, test } from 'vitest'
import { makeCluster } from '../../../test/builders.ts'
import type { LabelSelectorRequirement } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { newestRules, strictestRules } from '../karmada-rules.ts'
import { fieldMatcher } from './field-selector.ts'

const expression = (key: string, operator: string, values?: string[]): LabelSelectorRequirement =>
  defined({ key, operator, values })

describe("a cluster's fields", () => {
  const full = makeCluster('member1', { provider: 'aws', region: 'eu', zones: ['eu-1', 'eu-2'] })
  const bare = makeCluster('member2', { provider: '', zones: [] })

  test.each<{ name: string; requirements: LabelSelectorRequirement[]; wantFull: boolean; wantBare: boolean }>([
    { name: 'no requirement matches everything', requirements: [], wantFull: true, wantBare: true },
    { name: 'provider In', requirements: [expression('provider', 'In', ['aws'])], wantFull: true, wantBare: false },
    {
      name: 'region NotIn matches a cluster without region',
      requirements: [expression('region', 'NotIn', ['eu'])],
      wantFull: false,
      wantBare: true,
    },
    {
      name: 'an empty provider counts as absent',
      requirements: [expression('provider', 'Exists')],
      wantFull: true,
      wantBare: false,
    },
    {
      name: 'zone In matches any common zone',
      requirements: [expression('zone', 'In', ['eu-2', 'us-1'])],
      wantFull: true,
      wantBare: false,
    },
    {
      name: 'zone NotIn does not match any common zone',
      requirements: [expression('zone', 'NotIn', ['eu-2', 'us-1'])],
      wantFull: false,
      wantBare: true,
    },
    {
      name: 'zone Exists matches a cluster with a zone',
      requirements: [expression('zone', 'Exists')],
      wantFull: true,
      wantBare: false,
    },
    {
      name: 'zone DoesNotExist matches a cluster without a zone',
      requirements: [expression('zone', 'DoesNotExist')],
      wantFull: false,
      wantBare: true,
    },
    {
      name: 'an unknown field never exists',
      requirements: [expression('country', 'Exists')],
      wantFull: false,
      wantBare: false,
    },
    {
      name: 'an unknown operator matches nothing',
      requirements: [expression('zone', 'Gt', ['1'])],
      wantFull: false,
      wantBare: false,
    },
    {
      name: 'every requirement must match',
      requirements: [expression('provider', 'In', ['aws']), expression('zone', 'In', ['us-1'])],
      wantFull: false,
      wantBare: false,
    },
  ])('$name', ({ requirements, wantFull, wantBare }) => {
    expect([fieldMatcher(requirements, newestRules)(full), fieldMatcher(requirements, newestRules)(bare)]).toEqual([
      wantFull,
      wantBare,
    ])
  })
})

describe('zones of a cluster, before and since Karmada 1.18 (karmada#6431)', () => {
  test.each<{ operator: string; values?: string[]; zones?: string[]; old: boolean; recent: boolean }>([
    { operator: 'In', values: ['a', 'c'], zones: ['a'], old: true, recent: true },
    { operator: 'In', values: ['a', 'c'], zones: ['c', 'a'], old: true, recent: true },
    { operator: 'In', values: ['a', 'c'], zones: ['a', 'b'], old: false, recent: true },
    { operator: 'In', values: ['a', 'c'], zones: ['b'], old: false, recent: false },
    { operator: 'In', values: ['a', 'c'], old: false, recent: false },
    { operator: 'In', values: [], zones: ['a'], old: false, recent: false },
    { operator: 'NotIn', values: ['a'], zones: ['a', 'b'], old: false, recent: false },
    { operator: 'NotIn', values: [], zones: ['a'], old: true, recent: true },
    { operator: 'Exists', values: ['a'], zones: ['b'], old: true, recent: true },
    { operator: 'DoesNotExist', zones: ['b'], old: false, recent: false },
  ])('$zones $operator $values', ({ operator, values, zones, old, recent }) => {
    const cluster = makeCluster('c1', zones ? { zones } : {})
    const matches = (rules: typeof newestRules) => fieldMatcher([expression('zone', operator, values)], rules)(cluster)
    expect([matches(strictestRules), matches(newestRules)]).toEqual([old, recent])
  })
})

test('a requirement that Kubernetes rejects matches nothing', () => {
  const cluster = makeCluster('c1', { region: 'eu', provider: 'aws' })
  const rejected = [
    expression('region', 'NotIn'),
    expression('region', 'Exists', ['eu']),
    expression('a b', 'DoesNotExist'),
  ]
  expect(rejected.map((requirement) => fieldMatcher([requirement], newestRules)(cluster))).toEqual([
    false,
    false,
    false,
  ])
})
