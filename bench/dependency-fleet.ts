/** Workloads with objects of their own that their pods refer to, and the bindings that place them. */
import { configMaps, secrets, serviceAccounts } from '../src/api/dependencies.ts'
import { BINDING_ID_LABEL, type ResourceBinding, resourceBindings } from '../src/api/karmada.ts'
import { apiVersionOf, type K8sObject, type ResourceType } from '../src/api/meta.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { configMap, deployment, secret, serviceAccount } from '../test/e2e/manifests.ts'
import type { Stored } from './seed.ts'

/** The dependencies of each workload: small, as most of them are. */
export const DEPENDENCIES = [
  { type: configMaps, make: (i: number) => configMap(`settings-${i}`) },
  {
    type: secrets,
    make: (i: number) => ({ ...secret(`password-${i}`), stringData: undefined, data: { key: 'dmFsdWU=' } }),
  },
  { type: serviceAccounts, make: (i: number) => serviceAccount(`account-${i}`) },
]

const NAMESPACE = 'default'
export const deployments: ResourceType = {
  group: 'apps',
  version: 'v1',
  kind: 'Deployment',
  plural: 'deployments',
  namespaced: true,
}

/** Not scheduled yet: bindings say that dependencies are to be propagated, and to where is not known. */
export function* dependencyFleet(workloads: number): Generator<Stored> {
  for (let i = 0; i < workloads; i++) {
    const needs = DEPENDENCIES.map(({ make }) => make(i))
    for (const [n, { type }] of DEPENDENCIES.entries()) yield builtIn(type, needs[n] as K8sObject)
    yield builtIn(deployments, deployment(workloadOf(i), { needs }))
    yield { ...resourceBindings, object: { ...binding(i) } }
  }
}

/** Workloads that share objects, one each, and their bindings, which are scheduled already. */
export function* sharingFleet(
  workloads: number,
  shared: readonly KubeObject[],
): Generator<{ workload: K8sObject; binding: ResourceBinding }> {
  for (let i = 0; i < workloads; i++) {
    const needs = [shared[i % shared.length] as KubeObject]
    const { object } = scheduled(binding(i), 'member1')
    yield { workload: deployment(workloadOf(i), { needs }), binding: object as unknown as ResourceBinding }
  }
}

/** The same bindings, as the scheduler writes them: to one of three members. */
export function scheduled(binding: ResourceBinding, member: string): Stored {
  // The version is etcd's own.
  const { resourceVersion: _version, generation = 0, ...metadata } = binding.metadata
  const spec = { ...binding.spec, clusters: [{ name: member, replicas: 2 }] }
  return { ...resourceBindings, object: { ...binding, metadata: { ...metadata, generation: generation + 1 }, spec } }
}

export function isOfWorkload({ metadata }: K8sObject): boolean {
  return /^workload-\d+-deployment$/.test(metadata.name ?? '')
}

function binding(i: number): ResourceBinding {
  const name = workloadOf(i)
  return {
    apiVersion: apiVersionOf(resourceBindings),
    kind: resourceBindings.kind,
    metadata: {
      name: `${name}-deployment`,
      namespace: NAMESPACE,
      labels: { [BINDING_ID_LABEL]: crypto.randomUUID() },
      finalizers: ['karmada.io/binding-controller'],
    },
    spec: {
      resource: { apiVersion: 'apps/v1', kind: 'Deployment', name, namespace: NAMESPACE },
      replicas: 2,
      propagateDeps: true,
      conflictResolution: 'Abort',
      placement: { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } },
    },
  }
}

function workloadOf(i: number): string {
  return `workload-${i}`
}

/** Kinds that Kubernetes has by itself are stored without their group. */
function builtIn({ plural }: ResourceType, object: K8sObject): Stored {
  return { group: '', plural, object: { ...object } }
}
