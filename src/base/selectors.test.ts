import { describe, expect, test } from 'vitest'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
import { defined } from './json.ts'
import { matchesLabels } from './selectors.ts'

const labels = { tier: 'core', gpu: '' }
const expression = (key: string, operator: string, values?: string[]): LabelSelectorRequirement =>
  defined({ key, operator, values })

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

describe('a requirement that Kubernetes rejects matches nothing', () => {
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
    expect(matchesLabels({ matchExpressions: [requirement] }, { region: 'eu' })).toBe(false)
  })

  test('also a label with such a key or value', () => {
    expect([
      matchesLabels({ matchLabels: { tier: 'not a label' } }, { tier: 'not a label' }),
      matchesLabels({ matchLabels: { 'a b': '' } }, { 'a b': '' }),
    ]).toEqual([false, false])
  })
})
