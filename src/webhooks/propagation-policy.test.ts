import { describe, expect, test } from 'vitest'
import {
  makeBinding,
  makeClaim,
  makeDeployment,
  makeForeignClaim,
  makeNamespace,
  makePolicy,
  NOW,
} from '../../test/builders.ts'
import { storeOf } from '../../test/stores.ts'
import {
  CLUSTER_POLICY_NAME_ANNOTATION,
  type PropagationPolicy,
  type ResourceBinding,
  type ResourceSelector,
} from '../api/karmada.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import type { PropagateDepsMode } from '../core/propagation-policy/decide.ts'
import { openFolderStore } from '../store/folder/folder.ts'
import { cachedKinds, placementKinds } from '../store/kinds/cached-kinds.ts'
import { NotSyncedError, type ObjectStore } from '../store/store.ts'
import { defaultSettings } from './context.fake.ts'
import { clusterPropagationPolicy, propagationPolicy } from './propagation-policy.ts'

/** Sends a new policy to the webhook. */
function reviewBy(store: ObjectStore, policy: PropagationPolicy, propagateDeps: PropagateDepsMode = 'dataBound') {
  const webhook = policy.kind === 'PropagationPolicy' ? propagationPolicy : clusterPropagationPolicy
  const [{ group, version, kind, plural }] = webhook.resources as [ResourceType]
  const resource = { group, version, resource: plural }
  const request = { uid: 'u', kind: { group, version, kind }, resource, operation: 'CREATE' as const, object: policy }
  return webhook.review(request, { ...defaultSettings, store, now: NOW, propagateDeps })
}

/** Sends a policy to the webhook with a store of these objects. Returns whether the policy propagates, and the warnings. */
async function review(policy: PropagationPolicy, objects: K8sObject[], mode?: PropagateDepsMode) {
  const outcome = reviewBy(await storeOf(objects), policy, mode)
  const answered = outcome.kind === 'patch' ? (outcome.object as PropagationPolicy) : policy
  return { propagates: answered.spec.propagateDeps === true, warnings: outcome.warnings ?? [] }
}

const all: ResourceSelector = { apiVersion: 'apps/v1', kind: 'Deployment' }
const core: ResourceSelector = { ...all, labelSelector: { matchLabels: { tier: 'core' } } }
const policy = (...resourceSelectors: ResourceSelector[]) => makePolicy({ resourceSelectors })
function clusterPolicy(...resourceSelectors: ResourceSelector[]): PropagationPolicy {
  return { ...policy(...resourceSelectors), kind: 'ClusterPropagationPolicy', metadata: { name: 'app' } }
}
function makeClusterBinding(): ResourceBinding {
  const { metadata, ...rest } = makeBinding()
  return { ...rest, metadata: { ...metadata, annotations: { [CLUSTER_POLICY_NAME_ANNOTATION]: 'app' } } }
}

describe('a policy propagates dependencies when a claim is for a workload that it selects', () => {
  test.each<{ name: string; policy: PropagationPolicy; objects: K8sObject[]; want: boolean }>([
    { name: 'by name', policy: makePolicy(), objects: [makeClaim()], want: true },
    { name: 'by kind', policy: policy(all), objects: [makeClaim()], want: true },
    {
      name: 'by labels of the workload',
      policy: policy(core),
      objects: [makeClaim(), makeDeployment({ labels: { tier: 'core' } })],
      want: true,
    },
    {
      name: 'not by labels that the workload does not have',
      policy: policy(core),
      objects: [makeClaim(), makeDeployment({ labels: { tier: 'edge' } })],
      want: false,
    },
    {
      name: 'not by labels of a workload without labels, for any old binding',
      policy: policy(core),
      objects: [makeClaim(), makeDeployment(), makeBinding()],
      want: false,
    },
    { name: 'not by unknown labels', policy: policy(core), objects: [makeClaim()], want: false },
    {
      name: 'by unknown labels, if the binding has the policy',
      policy: policy(core),
      objects: [makeClaim(), makeBinding()],
      want: true,
    },
    {
      name: 'not by unknown labels, if the binding has another policy',
      policy: policy(core),
      objects: [makeClaim(), makeClusterBinding()],
      want: false,
    },
    {
      name: 'cluster-wide, by unknown labels, if the binding has the policy',
      policy: clusterPolicy(core),
      objects: [makeClaim(), makeClusterBinding()],
      want: true,
    },
    {
      name: 'cluster-wide, by name',
      policy: clusterPolicy({ ...all, name: 'app' }),
      objects: [makeClaim()],
      want: true,
    },
    {
      name: 'cluster-wide, not in another namespace',
      policy: clusterPolicy({ ...all, namespace: 'demo' }),
      objects: [makeClaim()],
      want: false,
    },
    {
      name: 'not in another namespace',
      policy: makePolicy(),
      objects: [makeClaim({}, { namespace: 'demo' })],
      want: false,
    },
    {
      name: 'in the namespace in the claim, if that namespace allows it',
      policy: makePolicy(),
      objects: [makeForeignClaim(), makeNamespace('default', 'other')],
      want: true,
    },
    {
      name: 'not in the namespace in the claim, if that namespace does not allow it',
      policy: makePolicy(),
      objects: [makeForeignClaim(), makeNamespace('default')],
      want: false,
    },
    {
      name: 'with any of its selectors',
      policy: policy({ ...all, name: 'other' }, { ...all, name: 'app' }),
      objects: [makeClaim()],
      want: true,
    },
    {
      name: 'not if the claim is being deleted',
      policy: makePolicy(),
      objects: [makeClaim({}, { deletionTimestamp: '2026-01-01T00:00:00Z', finalizers: ['lodestone.dev/claim'] })],
      want: false,
    },
    { name: 'not without a claim', policy: makePolicy(), objects: [], want: false },
  ])('$name', async ({ policy, objects, want }) => {
    expect((await review(policy, objects)).propagates).toBe(want)
  })
})

describe('a policy propagates dependencies when a workload that it selects names volumes', () => {
  test.each<{ name: string; policy: PropagationPolicy; workload: K8sObject; want: boolean }>([
    { name: 'by name', policy: makePolicy(), workload: makeDeployment({}, ['data']), want: true },
    {
      name: 'by its labels',
      policy: policy(core),
      workload: makeDeployment({ labels: { tier: 'core' } }, ['data']),
      want: true,
    },
    {
      name: 'not by other labels',
      policy: policy(core),
      workload: makeDeployment({ labels: { tier: 'edge' } }, ['data']),
      want: false,
    },
    { name: 'cluster-wide', policy: clusterPolicy(all), workload: makeDeployment({}, ['data']), want: true },
    { name: 'not without volumes', policy: policy(all), workload: makeDeployment(), want: false },
  ])('$name', async ({ policy, workload, want }) => {
    const { propagates, warnings } = await review(policy, [workload])

    expect({ propagates, warnings }).toEqual({
      propagates: want,
      warnings: want
        ? ['lodestone: propagateDeps set: Deployment default/app has annotation lodestone.dev/volumes']
        : [],
    })
  })
})

describe('the configuration', () => {
  test.each([
    { mode: 'never' as const, objects: [makeClaim()], want: false },
    { mode: 'always' as const, objects: [], want: true },
  ])('$mode: $want', async ({ mode, objects, want }) => {
    expect((await review(makePolicy(), objects, mode)).propagates).toBe(want)
  })
})

test('without cached workloads, claims are used', async () => {
  const store = await storeOf([makeClaim()], placementKinds)

  expect(reviewBy(store, policy(all)).kind).toBe('patch')
})

test('before the claims are cached, NotSyncedError is thrown', () => {
  expect(() => reviewBy(openFolderStore({ kinds: cachedKinds }), makePolicy())).toThrow(NotSyncedError)
})

test('a policy with too many selectors to compare is not changed, with a warning', async () => {
  const selectors = Array.from({ length: 1000 }, (_, i) => ({
    ...all,
    labelSelector: { matchLabels: { tier: `t${i}` } },
  }))
  const claims = Array.from({ length: 200 }, (_, i) =>
    makeClaim({ workload: { apiVersion: 'apps/v1', kind: 'Deployment', name: `other-${i}` } }, { name: `claim-${i}` }),
  )
  expect(await review(policy(...selectors), claims)).toEqual({
    propagates: false,
    warnings: [expect.stringContaining('set propagateDeps yourself, or divide the policy')],
  })
})
