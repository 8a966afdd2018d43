import { describe, expect, test } from 'vitest'
import { makeClaim, makePolicy } from '../../../test/builders.ts'
import type { WorkloadReference } from '../../api/data-source-claim.ts'
import type { PropagationPolicy, ResourceSelector } from '../../api/karmada.ts'
import {
  candidateCount,
  closeness,
  kindOfKey,
  selectableKeys,
  selectableKeysOfClaim,
  selectorKeys,
  selects,
} from './select.ts'

const app: WorkloadReference = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' }
const role: WorkloadReference = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'app' }
const labels = { tier: 'core' }

const deployments = (selector: Partial<ResourceSelector> = {}): ResourceSelector => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  ...selector,
})
const policy = (...resourceSelectors: ResourceSelector[]): PropagationPolicy => makePolicy({ resourceSelectors })
function clusterPolicy(...resourceSelectors: ResourceSelector[]): PropagationPolicy {
  const { namespace: _none, ...metadata } = makePolicy().metadata
  return { ...policy(...resourceSelectors), kind: 'ClusterPropagationPolicy', metadata }
}

/** Karmada's rules, row by row: pkg/util/selector.go, ResourceSelectorPriority, and the scope of the policy. */
const rules: { name: string; policy: PropagationPolicy; workload?: WorkloadReference; want: number }[] = [
  { name: 'a selector by name selects that object', policy: policy(deployments({ name: 'app' })), want: 3 },
  { name: 'a selector by name selects no other object', policy: policy(deployments({ name: 'other' })), want: 0 },
  {
    name: 'a selector with a name ignores its labels',
    policy: policy(deployments({ name: 'app', labelSelector: { matchLabels: { tier: 'edge' } } })),
    want: 3,
  },
  {
    name: 'a selector by labels selects an object with them',
    policy: policy(deployments({ labelSelector: { matchLabels: labels } })),
    want: 2,
  },
  {
    name: 'a selector by labels selects no object without them',
    policy: policy(deployments({ labelSelector: { matchLabels: { tier: 'edge' } } })),
    want: 0,
  },
  { name: 'empty labels select every object', policy: policy(deployments({ labelSelector: {} })), want: 2 },
  {
    name: 'a selector without name and labels selects all objects of the kind',
    policy: policy(deployments()),
    want: 1,
  },
  { name: 'an empty name counts as absent', policy: policy(deployments({ name: '' })), want: 1 },
  { name: 'the closest selector counts', policy: policy(deployments(), deployments({ name: 'app' })), want: 3 },
  {
    name: 'of several selectors by labels, each one counts',
    policy: policy(
      deployments({ labelSelector: { matchLabels: { tier: 'edge' } } }),
      deployments({ labelSelector: { matchLabels: labels } }),
    ),
    want: 2,
  },
  { name: 'another kind is not selected', policy: policy({ apiVersion: 'apps/v1', kind: 'DaemonSet' }), want: 0 },
  { name: 'another group is not selected', policy: policy(deployments({ apiVersion: 'example.org/v1' })), want: 0 },
  { name: 'its own namespace may be given', policy: policy(deployments({ namespace: 'default' })), want: 1 },
  { name: 'an empty namespace is its own namespace', policy: policy(deployments({ namespace: '' })), want: 1 },
  {
    name: 'a policy does not select objects of another namespace',
    policy: policy(deployments({ namespace: 'demo' })),
    want: 0,
  },
  {
    name: 'not even if the object is in that namespace',
    policy: policy(deployments({ namespace: 'demo' })),
    workload: { ...app, namespace: 'demo' },
    want: 0,
  },
  {
    name: 'a policy selects no cluster-scoped object',
    policy: policy({ apiVersion: role.apiVersion, kind: role.kind, name: 'app' }),
    workload: role,
    want: 0,
  },
  {
    name: 'a cluster policy without a namespace selects objects of any namespace',
    policy: clusterPolicy(deployments()),
    want: 1,
  },
  {
    name: 'a cluster policy with a namespace selects objects of that namespace',
    policy: clusterPolicy(deployments({ namespace: 'default', name: 'app' })),
    want: 3,
  },
  {
    name: 'a cluster policy with a namespace selects no objects of another one',
    policy: clusterPolicy(deployments({ namespace: 'demo' })),
    want: 0,
  },
  {
    name: 'a cluster policy selects cluster-scoped objects',
    policy: clusterPolicy({ apiVersion: role.apiVersion, kind: role.kind, name: 'app' }),
    workload: role,
    want: 3,
  },
]

describe('the selection of a policy', () => {
  test.each(rules)('$name', ({ policy, workload = app, want }) => {
    expect(closeness(workload, labels, policy)).toBe(want)
    expect(selects(policy, workload, labels)).toBe(want > 0)
  })

  test('depends on the version for an object, but not for a reference', () => {
    const older = policy(deployments({ apiVersion: 'apps/v1beta1' }))

    expect([closeness(app, labels, older), selects(older, app, labels)]).toEqual([0, true])
  })

  test.each([
    { name: 'by labels', selectors: [deployments({ labelSelector: {} })], want: undefined },
    {
      name: 'by labels of another kind',
      selectors: [{ apiVersion: 'v1', kind: 'Pod', labelSelector: {} }],
      want: false,
    },
    {
      name: 'by labels and by name',
      selectors: [deployments({ labelSelector: {} }), deployments({ name: 'app' })],
      want: true,
    },
    { name: 'by name', selectors: [deployments({ name: 'app' })], want: true },
    { name: 'by kind', selectors: [deployments()], want: true },
  ])('without known labels, $name: $want', ({ selectors, want }) => {
    expect(selects(policy(...selectors), app, undefined)).toBe(want)
  })
})

test('a workload is compared only with the selectors of its kind and namespace', () => {
  const selectors = [deployments({ labelSelector: {} }), deployments({ labelSelector: {} }), deployments()]
  const others = [deployments({ name: 'other' }), deployments({ namespace: 'demo' })]
  expect(candidateCount(policy(...selectors, ...others), app)).toBe(3)
})

describe('the keys', () => {
  test.each(rules.filter(({ want }) => want > 0))(
    'connect a policy and a workload: $name',
    ({ policy, workload = app }) => {
      const keys = selectableKeys(workload)
      expect(selectorKeys(policy).some((key) => keys.includes(key))).toBe(true)
    },
  )

  test('begin with group and kind', () => {
    expect(selectorKeys(policy(deployments({ name: 'app' }))).map(kindOfKey)).toEqual(['apps/Deployment'])
  })

  test('of a policy include each selector that can select an object', () => {
    expect(selectorKeys(policy(deployments({ name: 'app' }), deployments({ namespace: 'demo' })))).toEqual([
      'apps/Deployment/default/app',
    ])
    expect(selectorKeys(clusterPolicy(deployments(), deployments({ namespace: 'demo' })))).toEqual([
      'apps/Deployment/*/*',
      'apps/Deployment/demo/*',
    ])
  })

  test('of a claim include those of the workload in its namespace, or cluster-scoped', () => {
    const keys = ['default/app', 'default/*', '*/app', '*/*', '*/app', '*/*'].map((rest) => `apps/Deployment/${rest}`)
    expect(selectableKeysOfClaim(makeClaim())).toEqual(keys)
  })
})
