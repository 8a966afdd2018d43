import { describe, expect, test } from 'vitest'
import { makeCluster } from '../../test/builders.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
import { newestRules, strictestRules } from './karmada-rules.ts'
import { fieldMatcher, matchesLabels } from './selectors.ts'

const labels = { tier: 'core', gpu: '' }
const expression = (key: string, operator: string, values?: string[]): LabelSelectorRequirement => ({
  key,
  operator,
  ...(values && { values }),
})

describe('labels', () => {
  test.each<{ name: string; selector: LabelSelector | undefined; want: boolean }>([
    { name: 'an absent selector matches everything', selector: undefined, want: true },
    { name: 'an empty selector matches everything', selector: {}, want: true },
    {
      name: 'a selector with empty parts matches everything',
      selector: { matchLabels: {}, matchExpressions: [] },
      want: true,
    },
    { name: 'a label with the wanted value matches', selector: { matchLabels: { tier: 'core' } }, want: true },
    { name: 'a label with another value does not match', selector: { matchLabels: { tier: 'edge' } }, want: false },
    { name: 'an empty value matches an empty value', selector: { matchLabels: { gpu: '' } }, want: true },
    { name: 'a missing label does not match an empty value', selector: { matchLabels: { zone: '' } }, want: false },
    { name: 'every label must match', selector: { matchLabels: { tier: 'core', zone: 'a' } }, want: false },
    {
      name: 'an inherited member of an object is not a label',
      selector: { matchExpressions: [expression('toString', 'Exists')] },
      want: false,
    },
    {
      name: 'In matches one of the values',
      selector: { matchExpressions: [expression('tier', 'In', ['edge', 'core'])] },
      want: true,
    },
    {
      name: 'In does not match a missing label',
      selector: { matchExpressions: [expression('zone', 'In', ['a'])] },
      want: false,
    },
    {
      name: 'NotIn does not match the values',
      selector: { matchExpressions: [expression('tier', 'NotIn', ['core'])] },
      want: false,
    },
    {
      name: 'NotIn matches a missing label',
      selector: { matchExpressions: [expression('zone', 'NotIn', ['a'])] },
      want: true,
    },
    {
      name: 'Exists matches any value',
      selector: { matchExpressions: [expression('gpu', 'Exists')] },
      want: true,
    },
    {
      name: 'DoesNotExist matches a missing label only',
      selector: { matchExpressions: [expression('gpu', 'DoesNotExist')] },
      want: false,
    },
    {
      name: 'an unknown operator matches nothing',
      selector: { matchExpressions: [expression('tier', 'Matches', ['core'])] },
      want: false,
    },
    {
      name: 'labels and expressions must both match',
      selector: { matchLabels: { tier: 'core' }, matchExpressions: [expression('gpu', 'DoesNotExist')] },
      want: false,
    },
  ])('$name', ({ selector, want }) => {
    expect(matchesLabels(selector, labels)).toBe(want)
  })

  test('an object without labels matches a selector without requirements', () => {
    expect([matchesLabels({}), matchesLabels({ matchExpressions: [expression('a', 'DoesNotExist')] })]).toEqual([
      true,
      true,
    ])
  })
})

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

describe('a requirement that Kubernetes rejects matches nothing', () => {
  const cluster = makeCluster('c1', { region: 'eu', provider: 'aws' })
  test.each([
    expression('region', 'NotIn', []),
    expression('region', 'NotIn'),
    expression('region', 'Exists', ['eu']),
    expression('tier', 'DoesNotExist', ['eu']),
    expression('region', 'In', ['eu', 'not a label']),
    expression('tier', 'NotIn', ['x'.repeat(64)]),
    expression('', 'DoesNotExist'),
    expression('a/b/c', 'DoesNotExist'),
    expression('not a label', 'DoesNotExist'),
  ])('%j', (requirement) => {
    expect([
      fieldMatcher([requirement], newestRules)(cluster),
      matchesLabels({ matchExpressions: [requirement] }, { region: 'eu' }),
    ]).toEqual([false, false])
  })

  test('also a label with such a key or value', () => {
    expect([
      matchesLabels({ matchLabels: { tier: 'not a label' } }, { tier: 'not a label' }),
      matchesLabels({ matchLabels: { 'a b': '' } }, { 'a b': '' }),
    ]).toEqual([false, false])
  })
})
