import { expect, test } from 'vitest'
import {
  apiVersionProblem,
  isLabelKey,
  isLabelValue,
  kindProblem,
  labelProblem,
  pathSegmentProblem,
  subdomainProblem,
} from './names.ts'

const rules = { labelProblem, subdomainProblem, pathSegmentProblem, apiVersionProblem, kindProblem }

test.each<{ rule: keyof typeof rules; good: string[]; bad: string[] }>([
  {
    rule: 'labelProblem',
    good: ['a', 'member-1', '1a', 'a'.repeat(63)],
    bad: ['', 'A', '-a', 'a-', 'a.b', 'a_b', 'a'.repeat(64)],
  },
  {
    rule: 'subdomainProblem',
    good: ['a.b.c', 'my-app.v1', 'a'.repeat(253)],
    bad: ['', 'a..b', '.a', 'Sales_2024', 'a'.repeat(254)],
  },
  {
    rule: 'pathSegmentProblem',
    good: ['system:reader', 'Sales_2024', 'a b', '...'],
    bad: ['', '.', '..', 'a/b', 'a%b', 'a'.repeat(254)],
  },
  {
    rule: 'apiVersionProblem',
    good: ['v1', 'apps/v1', 'batch.volcano.sh/v1alpha1'],
    bad: ['', 'apps', 'apps/', '/v1', 'a/b/v1', 'Apps/v1', 'apps/V1'],
  },
  { rule: 'kindProblem', good: ['Deployment', 'A', 'Job2'], bad: ['', 'deployment', 'My-Kind', '2Kind', 'a/B'] },
])('$rule accepts valid names and explains invalid ones', ({ rule, good, bad }) => {
  const problem = (name: string) => rules[rule](name)
  expect(good.filter((name) => problem(name) !== undefined)).toEqual([])
  expect(bad.filter((name) => problem(name) === undefined)).toEqual([])
})

test('the length of a cluster name may have a lower limit', () => {
  expect([labelProblem('a'.repeat(48), 48), labelProblem('a'.repeat(49), 48) === undefined]).toEqual([undefined, false])
})

test.each<{ rule: 'isLabelKey' | 'isLabelValue'; good: string[]; bad: string[] }>([
  {
    rule: 'isLabelKey',
    good: ['tier', 'A', 'a_b.c-d', 'x'.repeat(63), 'karmada.io/zone', `${'p'.repeat(253)}/a`],
    bad: ['', '-a', 'a-', 'a b', 'x'.repeat(64), '/a', 'a/', 'A.io/a', 'a/b/c', `${'p'.repeat(254)}/a`],
  },
  { rule: 'isLabelValue', good: ['', 'a', 'A_b.C-1', 'x'.repeat(63)], bad: ['-a', 'a.', 'a b', 'a/b', 'x'.repeat(64)] },
])('$rule has the syntax of Kubernetes', ({ rule, good, bad }) => {
  const accepts = { isLabelKey, isLabelValue }[rule]
  expect([good.filter((text) => !accepts(text)), bad.filter(accepts)]).toEqual([[], []])
})
