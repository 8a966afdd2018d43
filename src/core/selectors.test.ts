import { describe, expect, test } from 'vitest'
import { makeCluster } from '../../test/builders.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
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
    { name: 'so does an empty one', selector: {}, want: true },
    { name: 'so does one with empty parts', selector: { matchLabels: {}, matchExpressions: [] }, want: true },
    { name: 'a label with the wanted value matches', selector: { matchLabels: { tier: 'core' } }, want: true },
    { name: 'another value does not', selector: { matchLabels: { tier: 'edge' } }, want: false },
    { name: 'an empty value is a value', selector: { matchLabels: { gpu: '' } }, want: true },
    { name: 'a missing label is not an empty value', selector: { matchLabels: { zone: '' } }, want: false },
    { name: 'every label has to match', selector: { matchLabels: { tier: 'core', zone: 'a' } }, want: false },
    {
      name: 'an inherited member of an object is not a label',
      selector: { matchExpressions: [expression('toString', 'Exists')] },
      want: false,
    },
    {
      name: 'In takes one of the values',
      selector: { matchExpressions: [expression('tier', 'In', ['edge', 'core'])] },
      want: true,
    },
    { name: 'In needs the label', selector: { matchExpressions: [expression('zone', 'In', ['a'])] }, want: false },
    {
      name: 'NotIn refuses the values',
      selector: { matchExpressions: [expression('tier', 'NotIn', ['core'])] },
      want: false,
    },
    {
      name: 'NotIn matches where the label is missing',
      selector: { matchExpressions: [expression('zone', 'NotIn', ['a'])] },
      want: true,
    },
    {
      name: 'Exists needs the label, whatever its value',
      selector: { matchExpressions: [expression('gpu', 'Exists')] },
      want: true,
    },
    {
      name: 'DoesNotExist needs it away',
      selector: { matchExpressions: [expression('gpu', 'DoesNotExist')] },
      want: false,
    },
    {
      name: 'an unknown operator matches nothing',
      selector: { matchExpressions: [expression('tier', 'Matches', ['core'])] },
      want: false,
    },
    {
      name: 'labels and expressions are both needed',
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
      name: 'an empty provider is no provider',
      requirements: [expression('provider', 'Exists')],
      wantFull: true,
      wantBare: false,
    },
    {
      name: 'zone In takes any overlap',
      requirements: [expression('zone', 'In', ['eu-2', 'us-1'])],
      wantFull: true,
      wantBare: false,
    },
    {
      name: 'zone NotIn refuses any overlap',
      requirements: [expression('zone', 'NotIn', ['eu-2', 'us-1'])],
      wantFull: false,
      wantBare: true,
    },
    { name: 'zone Exists needs a zone', requirements: [expression('zone', 'Exists')], wantFull: true, wantBare: false },
    {
      name: 'zone DoesNotExist needs none',
      requirements: [expression('zone', 'DoesNotExist')],
      wantFull: false,
      wantBare: true,
    },
    {
      name: 'an unknown field is never there',
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
      name: 'every requirement has to match',
      requirements: [expression('provider', 'In', ['aws']), expression('zone', 'In', ['us-1'])],
      wantFull: false,
      wantBare: false,
    },
  ])('$name', ({ requirements, wantFull, wantBare }) => {
    expect([fieldMatcher(requirements)(full), fieldMatcher(requirements)(bare)]).toEqual([wantFull, wantBare])
  })
})
