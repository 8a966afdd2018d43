/** Kinds and objects for tests of stores. */
import { secrets } from '../api/dependencies.ts'
import { type Cluster, clusters, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { K8sObject } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import type { CachedKind } from './store.ts'

export const bindingKind: CachedKind<ResourceBinding> = {
  type: resourceBindings,
  keep: ({ apiVersion, kind, metadata: { namespace, name, uid, resourceVersion }, spec }) => ({
    apiVersion,
    kind,
    metadata: defined({
      namespace: namespace || undefined,
      name: name || undefined,
      uid: uid || undefined,
      resourceVersion: resourceVersion || undefined,
    }),
    spec: defined({ resource: spec.resource, replicas: spec.replicas || undefined }),
  }),
  indexes: { workload: (binding) => [binding.spec.resource.name] },
}

export const clusterKind: CachedKind<Cluster> = { type: clusters, keep: (raw) => raw, indexes: {} }

export function buildBinding(name: string, input: { workload?: string; replicas?: number } = {}): ResourceBinding {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { namespace: 'shop', name, annotations: { note: 'not kept' } },
    spec: {
      resource: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: input.workload ?? name },
      replicas: input.replicas ?? 1,
    },
  }
}

export function buildCluster(name: string): Cluster {
  return { apiVersion: 'cluster.karmada.io/v1alpha1', kind: 'Cluster', metadata: { name }, spec: { region: 'north' } }
}

type Secret = K8sObject & { data?: Record<string, string> }

/** Keeps the whole object, so that a test detects content beyond the metadata. */
export const secretKind: CachedKind<Secret> = { type: secrets, keep: (raw) => raw, indexes: {}, metadataOnly: true }

export function buildSecret(name: string, input: { password?: string; labels?: Record<string, string> } = {}): Secret {
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { namespace: 'shop', name, labels: input.labels ?? {} },
    data: { password: btoa(input.password ?? 'open sesame') },
  }
}
