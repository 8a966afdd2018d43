// The objects that users of the scenarios write: small, valid, and different only in what a scenario is about.
import type { KubeObject } from './api-client.ts'

interface InNamespace {
  namespace?: string
}

export type SpecObject = KubeObject & { spec: Record<string, unknown> }

const everywhere = { clusterAffinity: { clusterNames: ['member1', 'member2', 'member3'] } }

// A claim of the Deployment of the same name, or of another workload.
export function claim(
  name: string,
  {
    data,
    workload,
    policy,
    namespace = 'default',
  }: { data: string; workload?: KubeObject; policy?: object } & InNamespace,
): SpecObject {
  const { apiVersion, kind, metadata } = workload ?? deployment(name)
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSourceClaim',
    metadata: { name, namespace },
    spec: {
      system: 'static',
      dataSourceType: 'bucket',
      dataSourceName: data,
      workload: { apiVersion, kind, name: metadata.name },
      ...(policy && { policy }),
    },
  }
}

// A claim of a table of the Amoro-speaking server.
export function tableClaim(name: string, options: Parameters<typeof claim>[1]): SpecObject {
  const { spec, ...rest } = claim(name, options)
  return { ...rest, spec: { ...spec, system: 'amoro', dataSourceType: 'table' } } as SpecObject
}

export function source(name: string, clusterNames: string[]): SpecObject {
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name },
    spec: { system: 'static', type: 'bucket', name, locality: { clusterNames } },
  }
}

export function deployment(
  name: string,
  { configMap, namespace = 'default' }: { configMap?: string } & InNamespace = {},
): SpecObject {
  const labels = { app: name }
  const envFrom = configMap ? [{ configMapRef: { name: configMap } }] : []
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: {
      replicas: 2,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'main:1', envFrom }] } },
    },
  }
}

export function job(name: string): SpecObject {
  const containers = [{ name: 'main', image: 'main:1' }]
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default' },
    spec: { template: { spec: { restartPolicy: 'Never', containers } } },
  }
}

export function configMap(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default' }, data: { key: 'value' } }
}

// A policy for the Deployment of the same name, or another workload, over three clusters, or another placement.
export function policy(
  name: string,
  {
    workload = deployment(name),
    placement = everywhere,
    namespace = 'default',
    ...spec
  }: { workload?: KubeObject; placement?: object; propagateDeps?: boolean } & InNamespace = {},
): SpecObject {
  const { apiVersion, kind, metadata } = workload
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { name, namespace },
    spec: { resourceSelectors: [{ apiVersion, kind, name: metadata.name }], placement, ...spec },
  }
}

export function clusterPolicy(name: string, { apiVersion, kind, metadata }: KubeObject): SpecObject {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterPropagationPolicy',
    metadata: { name },
    spec: { resourceSelectors: [{ apiVersion, kind, name: metadata.name }], placement: everywhere },
  }
}

// A binding as Karmada makes it for the Deployment of that name, for who writes one by hand.
export function binding(name: string, { namespace = 'default' }: InNamespace = {}): SpecObject {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: { name: `${name}-deployment`, namespace },
    spec: { resource: { apiVersion: 'apps/v1', kind: 'Deployment', name, namespace }, placement: everywhere },
  }
}
