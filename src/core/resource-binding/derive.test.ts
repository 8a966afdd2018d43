import { describe, expect, test } from 'vitest'
import { makeBinding, makeDeployment, makeObject, makePolicy } from '../../../test/builders.ts'
import type { PropagationPolicy } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { bindingName, deriveBinding, givenReplicas, isBindingOf, selectPolicy } from './derive.ts'

test.each([
  ['Deployment', 'app', 'app-deployment'],
  ['ClusterRole', 'system:node', 'system.node-clusterrole'],
  ['Role', 'a:b:C', 'a.b.c-role'],
])('the binding of %s %s is called %s', (kind, name, want) => {
  expect(bindingName(kind, name)).toBe(want)
})

test.each([
  { name: 'the object itself', is: true },
  { name: 'another version of it', apiVersion: 'batch/v1beta1', is: true },
  { name: 'an object of another group', apiVersion: 'batch.volcano.sh/v1alpha1', is: false },
  { name: 'an object whose name differs in a colon', objectName: 'a:b', is: false },
  { name: 'an object of another kind', kind: 'JOB', is: false },
])('a binding with the name of $name: $is', ({ apiVersion = 'batch/v1', kind = 'Job', objectName = 'a.b', is }) => {
  const resource = { apiVersion: 'batch/v1', kind: 'Job', namespace: 'default', name: 'a.b' }
  const binding = makeBinding({ resource }, { name: 'a.b-job' })

  expect(bindingName(kind, objectName)).toBe('a.b-job')
  expect(isBindingOf(binding, { apiVersion, kind, name: objectName })).toBe(is)
})

describe('the policy of a template', () => {
  const template = makeDeployment({ labels: { tier: 'core' } })
  const deployments = { apiVersion: 'apps/v1', kind: 'Deployment' }
  const selecting = (name: string, selector: object = {}, priority?: number, namespace = 'default') =>
    makePolicy(
      { resourceSelectors: [{ ...deployments, ...selector }], ...(priority !== undefined && { priority }) },
      { name, namespace },
    )
  const clusterPolicy = (name: string) => {
    const { metadata: _metadata, ...policy } = selecting(name)
    return { ...policy, metadata: { name } }
  }
  const byLabel = { labelSelector: { matchLabels: { tier: 'core' } } }

  test.each<{ name: string; own: PropagationPolicy[]; cluster?: PropagationPolicy[]; want: string | undefined }>([
    { name: 'is undefined without policies', own: [], want: undefined },
    { name: 'is undefined if none selects it', own: [selecting('a', { name: 'other' })], want: undefined },
    { name: 'is none of another namespace', own: [selecting('a', {}, 0, 'other')], want: undefined },
    { name: 'is a cluster policy if its namespace has none', own: [], cluster: [clusterPolicy('c')], want: 'c' },
    {
      name: 'is a policy of its namespace before a cluster policy',
      own: [selecting('a')],
      cluster: [clusterPolicy('c')],
      want: 'a',
    },
    { name: 'is the policy with the highest priority', own: [selecting('a', {}, 1), selecting('b', {}, 2)], want: 'b' },
    { name: 'has priority 0 by default', own: [selecting('a'), selecting('b', {}, 1)], want: 'b' },
    { name: 'has a higher priority than a negative one', own: [selecting('a', {}, -1), selecting('b')], want: 'b' },
    {
      name: 'is selected by priority before closeness',
      own: [selecting('a', { name: 'app' }), selecting('b', {}, 1)],
      want: 'b',
    },
    {
      name: 'is selected by name before labels',
      own: [selecting('a', byLabel), selecting('b', { name: 'app' })],
      want: 'b',
    },
    { name: 'is selected by labels before kind', own: [selecting('a'), selecting('b', byLabel)], want: 'b' },
    { name: 'is the first by name among equal ones', own: [selecting('b'), selecting('a'), selecting('c')], want: 'a' },
  ])('$name', ({ own, cluster = [], want }) => {
    expect(selectPolicy(template, own, cluster)?.metadata.name).toBe(want)
    expect(selectPolicy(template, own.toReversed(), cluster)?.metadata.name).toBe(want)
  })

  test('without a namespace is a cluster policy', () => {
    const role = makeObject('rbac.authorization.k8s.io/v1', 'ClusterRole', 'reader')
    const template: K8sObject = { ...role, metadata: { name: 'reader' } }
    const policy = clusterPolicy('c')
    const selector = { apiVersion: role.apiVersion, kind: role.kind }
    const own = makePolicy({ resourceSelectors: [selector] }, { name: 'a', namespace: 'default' })
    const forRoles = { ...policy, spec: { ...policy.spec, resourceSelectors: [selector] } }
    expect(selectPolicy(template, [own], [forRoles])?.metadata.name).toBe('c')
  })
})

describe('the binding of a template', () => {
  test('is equal to the one of the detector', () => {
    const policy = makePolicy({
      propagateDeps: true,
      schedulerName: 'own',
      conflictResolution: 'Overwrite',
      preserveResourcesOnDeletion: true,
    })
    expect(deriveBinding(makeDeployment(), policy)).toStrictEqual({
      apiVersion: 'work.karmada.io/v1alpha2',
      kind: 'ResourceBinding',
      metadata: {
        name: 'app-deployment',
        namespace: 'default',
        annotations: {
          'propagationpolicy.karmada.io/namespace': 'default',
          'propagationpolicy.karmada.io/name': 'app',
        },
      },
      spec: {
        resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'app' },
        replicas: 1,
        propagateDeps: true,
        placement: { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } },
        schedulerName: 'own',
        conflictResolution: 'Overwrite',
        preserveResourcesOnDeletion: true,
      },
    })
  })

  test('has the defaults of Karmada, and the name of the cluster policy', () => {
    const { placement: _placement, ...spec } = makePolicy().spec
    const policy: PropagationPolicy = { ...makePolicy(), metadata: { name: 'all' }, spec }
    const role: K8sObject = {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
    }
    expect(deriveBinding(role, policy)).toStrictEqual({
      apiVersion: 'work.karmada.io/v1alpha2',
      kind: 'ClusterResourceBinding',
      metadata: { name: 'reader-clusterrole', annotations: { 'clusterpropagationpolicy.karmada.io/name': 'all' } },
      spec: {
        resource: { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', name: 'reader' },
        placement: {},
        schedulerName: 'default-scheduler',
        conflictResolution: 'Abort',
      },
    })
  })

  const flink = { job: { parallelism: 5 }, flinkConfiguration: { 'taskmanager.numberOfTaskSlots': '2' } }
  const ray = { rayClusterConfig: { workerGroupSpecs: [{ replicas: 2 }, {}, { replicas: 1 }] } }
  test.each<[kind: string, spec: object | undefined, want: number | undefined]>([
    ['apps/v1 Deployment', { replicas: 3 }, 3],
    ['apps/v1 Deployment', { replicas: 0 }, 0],
    ['apps/v1 Deployment', {}, 1],
    ['apps/v1 Deployment', { replicas: -5 }, 1],
    ['apps/v1 Deployment', { replicas: Number.POSITIVE_INFINITY }, 1],
    ['apps/v1 ReplicaSet', { replicas: 3 }, 3],
    ['apps/v1 StatefulSet', { replicas: 3 }, 3],
    ['apps/v1 StatefulSet', undefined, 1],
    ['batch/v1 Job', { parallelism: 4, replicas: 2 }, 4],
    ['batch/v1 Job', {}, 1],
    ['batch/v1 Job', undefined, 1],
    ['v1 Pod', { replicas: 2 }, 1],
    ['v1 ConfigMap', { replicas: 2 }, undefined],
    ['batch.volcano.sh/v1alpha1 Job', { parallelism: 4 }, undefined],
    ['apps.kruise.io/v1alpha1 CloneSet', { replicas: 3 }, 3],
    ['apps.kruise.io/v1beta1 StatefulSet', { replicas: 3 }, 3],
    ['apps.kruise.io/v1alpha1 UnitedDeployment', { replicas: 3 }, 3],
    ['apps.kruise.io/v1alpha1 BroadcastJob', { parallelism: 3 }, 3],
    ['apps.kruise.io/v1alpha1 BroadcastJob', { parallelism: '50%' }, 1],
    ['argoproj.io/v1alpha1 Workflow', { parallelism: 3 }, 3],
    ['kubeflow.org/v1 Notebook', {}, 1],
    ['flink.apache.org/v1beta1 FlinkDeployment', {}, 2],
    ['flink.apache.org/v1beta1 FlinkDeployment', flink, 4],
    ['flink.apache.org/v1beta1 FlinkDeployment', { ...flink, taskManager: { replicas: 2 } }, 3],
    ['flink.apache.org/v1beta1 FlinkDeployment', { jobManager: { replicas: 2 } }, 3],
    ['ray.io/v1 RayService', ray, 4],
    ['ray.io/v1 RayService', { rayClusterConfig: { workerGroupSpecs: 'none' } }, 1],
    ['ray.io/v1 RayJob', {}, undefined],
  ])('of a %s with %j has %s replicas', (kindAndVersion, spec, want) => {
    const [apiVersion = '', kind = ''] = kindAndVersion.split(' ')
    const template = makeObject(apiVersion, kind, 'app', spec && { spec })
    expect(deriveBinding(template, makePolicy()).spec.replicas).toBe(want)
  })

  test.each<[kind: string, spec: object | undefined, want: number | undefined]>([
    ['apps/v1 Deployment', { replicas: 0 }, 0],
    ['apps/v1 Deployment', {}, undefined],
    ['apps/v1 Deployment', undefined, undefined],
    ['batch/v1 Job', { parallelism: 4 }, 4],
    ['v1 ConfigMap', { replicas: 2 }, undefined],
  ])('a manifest of a %s with %j gives %s replicas', (kindAndVersion, spec, want) => {
    const [apiVersion = '', kind = ''] = kindAndVersion.split(' ')
    expect(givenReplicas(makeObject(apiVersion, kind, 'app', spec && { spec }))).toBe(want)
  })
})
