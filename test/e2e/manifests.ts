// The objects that users of the scenarios write: small, valid, and different only in what a scenario is about.
import { stringify } from 'yaml'
import type { KubeObject } from './api-client.ts'

/** The objects as the documents of a file, as users have them. */
export function yamlOf(...objects: object[]): string {
  return objects.map((object) => stringify(object, { aliasDuplicateObjects: false })).join('---\n')
}

interface InNamespace {
  namespace?: string
}

interface PolicySpec {
  placement?: object
  propagateDeps?: boolean
  conflictResolution?: 'Abort' | 'Overwrite'
  preserveResourcesOnDeletion?: boolean
  failover?: object
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

export function source(name: string, clusterNames: string[], size: { bytes?: number } = {}): SpecObject {
  return {
    apiVersion: 'datadependency.volcano.sh/v1alpha1',
    kind: 'DataSource',
    metadata: { name },
    spec: { system: 'static', type: 'bucket', name, locality: { clusterNames, ...size } },
  }
}

// Makes a Deployment whose pods refer to the objects of `needs`.
export function deployment(
  name: string,
  { needs = [], namespace = 'default' }: { needs?: KubeObject[] } & InNamespace = {},
): SpecObject {
  const labels = { app: name }
  const containers = [{ name: 'main', image: 'main:1' }]
  const spec = { containers, ...references(needs) }
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace, labels },
    spec: { replicas: 2, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  }
}

// Makes a StatefulSet with a PersistentVolumeClaim of each of these templates in every pod.
export function statefulSet(name: string, claimTemplates: string[]): SpecObject {
  const { metadata, spec } = deployment(name)
  const claimSpec = persistentVolumeClaim(name).spec
  const volumeClaimTemplates = claimTemplates.map((template) => ({ metadata: { name: template }, spec: claimSpec }))
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata,
    spec: { ...spec, serviceName: name, volumeClaimTemplates },
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

export function configMap(name: string, { namespace = 'default' }: InNamespace = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace }, data: { key: 'value' } }
}

export function secret(name: string, { namespace = 'default' }: InNamespace = {}): KubeObject {
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name, namespace }, stringData: { key: 'value' } }
}

export function persistentVolumeClaim(name: string): SpecObject {
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name, namespace: 'default' },
    spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
  }
}

export function serviceAccount(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name, namespace: 'default' } }
}

// Selects the pods of the Deployment of that name.
export function service(name: string, { of: workload }: { of: string }): SpecObject {
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name, namespace: 'default' },
    spec: { selector: { app: workload }, ports: [{ port: 80 }] },
  }
}

export function ingress(name: string, { to, tls }: { to: KubeObject; tls: KubeObject }): SpecObject {
  const backend = { service: { name: to.metadata.name, port: { number: 80 } } }
  const host = 'shop.example'
  return {
    apiVersion: 'networking.k8s.io/v1',
    kind: 'Ingress',
    metadata: { name, namespace: 'default' },
    spec: {
      rules: [{ host, http: { paths: [{ path: '/', pathType: 'Prefix', backend }] } }],
      tls: [{ hosts: [host], secretName: tls.metadata.name }],
    },
  }
}

// A disk behind a driver that needs a Secret to mount it.
export function persistentVolume(name: string, { needs }: { needs: KubeObject }): SpecObject {
  const { name: secretName, namespace } = needs.metadata
  return {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      capacity: { storage: '1Gi' },
      accessModes: ['ReadWriteOnce'],
      csi: { driver: 'disks', volumeHandle: name, nodePublishSecretRef: { name: secretName, namespace } },
    },
  }
}

export function only(...clusterNames: string[]): object {
  return { clusterAffinity: { clusterNames } }
}

// A policy for the Deployment of the same name, or another workload, over three clusters, or another placement.
export function policy(
  name: string,
  {
    workload = deployment(name),
    placement = everywhere,
    namespace = 'default',
    ...spec
  }: { workload?: KubeObject } & PolicySpec & InNamespace = {},
): SpecObject {
  const { apiVersion, kind, metadata } = workload
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'PropagationPolicy',
    metadata: { name, namespace },
    spec: { resourceSelectors: [{ apiVersion, kind, name: metadata.name }], placement, ...spec },
  }
}

export function clusterPolicy(
  name: string,
  { apiVersion, kind, metadata }: KubeObject,
  { placement = everywhere, ...spec }: PolicySpec = {},
): SpecObject {
  return {
    apiVersion: 'policy.karmada.io/v1alpha1',
    kind: 'ClusterPropagationPolicy',
    metadata: { name },
    spec: { resourceSelectors: [{ apiVersion, kind, name: metadata.name }], placement, ...spec },
  }
}

// Makes a binding as Karmada makes it for the Deployment of that name, for tests that write one by hand.
export function binding(name: string, { namespace = 'default' }: InNamespace = {}): SpecObject {
  return {
    apiVersion: 'work.karmada.io/v1alpha2',
    kind: 'ResourceBinding',
    metadata: {
      name: `${name}-deployment`,
      namespace,
      // As of a policy: Karmada's scheduler ignores other bindings.
      annotations: {
        'propagationpolicy.karmada.io/namespace': namespace,
        'propagationpolicy.karmada.io/name': name,
      },
      // Without an owner it is the binding of a workload that was deleted, which never moves. A garbage collector would look for this one.
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'Deployment', name, uid: `uid-of-${name}`, controller: true }],
    },
    spec: { resource: { apiVersion: 'apps/v1', kind: 'Deployment', name, namespace }, placement: everywhere },
  }
}

// How pods refer to objects of these kinds.
const volumeSources: Record<string, (name: string) => object> = {
  ConfigMap: (name) => ({ configMap: { name } }),
  Secret: (secretName) => ({ secret: { secretName } }),
  PersistentVolumeClaim: (claimName) => ({ persistentVolumeClaim: { claimName } }),
}

function references(needs: KubeObject[]): object {
  // Said in any case: an account that is left out stays, since the API server has it in a second, older field.
  const serviceAccountName = needs.find(({ kind }) => kind === 'ServiceAccount')?.metadata.name ?? 'default'
  const volumes = needs.flatMap(({ kind, metadata }, i) => {
    const source = volumeSources[kind]?.(metadata.name)
    return source ? [{ name: `volume-${i}`, ...source }] : []
  })
  return { volumes, serviceAccountName }
}
