/** The cached kinds for dependencies: workloads with their references, and the dependencies, mostly as metadata. */
import { createHash } from 'node:crypto'
import {
  configMaps,
  endpointSlices,
  ingresses,
  type Service,
  type ServiceAccount,
  secrets,
  serviceAccounts,
  services,
} from '../../api/dependencies.ts'
import { VOLUMES_ANNOTATION } from '../../api/lodestone.ts'
import { type K8sObject, type ObjectMeta, objectKey, type ResourceType, referenceOf } from '../../api/meta.ts'
import { persistentVolumes } from '../../api/persistent-volume.ts'
import { pods } from '../../api/pod.ts'
import { defined, sortedMembers } from '../../base/json.ts'
import { workloadKey } from '../../core/data-source-claim/keys.ts'
import type { Dependent } from '../../core/dependencies/dependent.ts'
import { referenceKeys } from '../../core/dependencies/keys.ts'
import { withoutOrdinals } from '../../core/dependencies/pod-labels.ts'
import { interpretWorkload, podVolumeAnnotations, type Workload } from '../../core/dependencies/workload.ts'
import { selectableKeys } from '../../core/propagation-policy/select.ts'
import type { WorkloadKinds } from '../../core/workload-kinds/kinds.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import { intern } from '../cache/intern.ts'
import type { CachedKind } from '../store.ts'
import { keepAnnotations } from './keep-metadata.ts'

/** Workloads that are also cached for volumes (volumes.ts). */
const SHARED: readonly string[] = [pods, persistentVolumes].map(kindKey)

/** Returns the kinds whose objects have dependencies. An Ingress is itself a dependency of the pods behind it. */
export function cachedWorkloadKinds(kinds: WorkloadKinds): CachedKind<Workload & Dependent>[] {
  return kinds.all.filter(({ type }) => !SHARED.includes(kindKey(type))).map(({ type }) => workloadKind(type, kinds))
}

/** The cached parts of a workload: its dependencies, and the keys by which they are found. */
export function workloadKind(type: ResourceType, kinds: WorkloadKinds): CachedKind<Workload & Dependent> {
  const inherits = kinds.all.some((kind) => kind.type === type && kind.inherits)
  return {
    type: type as ResourceType<Workload & Dependent>,
    keep(raw) {
      const { apiVersion, kind, metadata, dependencies } = interpretWorkload(raw, kinds)
      return {
        apiVersion,
        kind,
        metadata: {
          ...keepIdentity(metadata),
          // The workloads of its controller inherit it.
          ...(inherits && keepAnnotations(metadata, [VOLUMES_ANNOTATION])),
        },
        dependencies,
        ...(type.kind === ingresses.kind && dependentContent(raw)),
        ...defined({
          volumeRequests: dependencies.volumeManagers.length > 0 ? podVolumeAnnotations(raw, kinds) : undefined,
          controller: controllerOf(metadata),
        }),
      }
    },
    indexes: {
      references: referenceKeys,
      podLabels: ({ metadata, dependencies }) =>
        dependencies.podLabels.flatMap((labels) =>
          Object.entries(labels).map((pair) => labelKey(metadata.namespace, pair)),
        ),
      backends: ({ metadata, dependencies }) =>
        dependencies.backends.map((name) => objectKey(metadata.namespace, name)),
      // References by labels instead of a name, by kind and namespace.
      selectors: ({ dependencies }) =>
        dependencies.references
          .filter(({ name }) => !name)
          .map(({ kind, namespace }) => selectorKey({ kind, metadata: namespace ? { namespace } : {} })),
      // What a controller created: the pods of a ReplicaSet, the Jobs of a CronJob.
      controller: ({ metadata, controller }) =>
        controller ? [workloadKey({ ...controller, ...defined({ namespace: metadata.namespace }) })] : [],
      // For workloads whose pods name volumes: the keys of the policies that may select them.
      dataBound: (workload) =>
        workload.dependencies.volumeManagers.length > 0 ? selectableKeys(referenceOf(workload)) : [],
    },
    optional: true,
  }
}

const serviceKind: CachedKind<Service & Dependent> = {
  type: services,
  keep: (raw) => {
    const { selector } = raw.spec ?? {}
    return { ...keepContent(raw), ...defined({ spec: selector && { selector: withoutOrdinals(selector) } }) }
  },
  indexes: {
    // One label of the selector is enough: every pod that the selector matches has this label.
    selector({ metadata, spec }) {
      const [pair] = Object.entries(spec?.selector ?? {}).sort(([a], [b]) => (a < b ? -1 : 1))
      return pair ? [labelKey(metadata.namespace, pair)] : []
    },
  },
}

const serviceAccountKind: CachedKind<ServiceAccount> = {
  type: serviceAccounts,
  keep: ({ apiVersion, kind, metadata, imagePullSecrets, secrets }) =>
    defined({ apiVersion, kind, metadata: keepIdentity(metadata), imagePullSecrets, secrets }),
  indexes: {
    secrets: ({ metadata, imagePullSecrets = [], secrets = [] }) =>
      [...imagePullSecrets, ...secrets].flatMap(({ name }) => (name ? [objectKey(metadata.namespace, name)] : [])),
  },
}

/** Requests metadata only, so that the content of Secrets does not leave the API server. */
function metadataOnly(type: ResourceType): CachedKind<Dependent> {
  const keep = ({ apiVersion, kind, metadata }: Dependent) => ({ apiVersion, kind, metadata: keepIdentity(metadata) })
  return { type, keep, indexes: {}, metadataOnly: true }
}

/** Secrets, as dependencies of workloads. The right to list Secrets exposes their content, so no other feature reads them. */
const secretKind = metadataOnly(secrets)

/** The kinds that are cached only when Lodestone distributes dependencies, besides workloads. */
export const dependencyKinds: readonly AnyCachedKind[] = [
  serviceKind,
  serviceAccountKind,
  metadataOnly(configMaps),
  secretKind,
  { ...metadataOnly(endpointSlices), indexes: { namespace: ({ metadata }: Dependent) => [metadata.namespace ?? ''] } },
]

/** The key of a label of pods in a namespace. */
export function labelKey(namespace: string | undefined, [name, value]: [string, string]): string {
  return `${namespace ?? ''}/${name}=${value}`
}

/** The key of a kind in a namespace. The workloads that select such objects by their labels have it too. */
export function selectorKey({ kind, metadata }: { kind: string; metadata: ObjectMeta }): string {
  return objectKey(metadata.namespace, kind)
}

/** Keeps the identity of a dependency, and a hash of its content. */
export function keepContent(raw: K8sObject): Dependent {
  const { apiVersion, kind, metadata } = raw
  return { apiVersion, kind, metadata: keepIdentity(metadata), ...dependentContent(raw) }
}

/** Keeps name, uid, version, deletion time and labels. */
function keepIdentity({ name, namespace, uid, resourceVersion, deletionTimestamp, labels }: ObjectMeta): ObjectMeta {
  return defined({
    name: name || undefined,
    namespace: namespace || undefined,
    uid: uid || undefined,
    resourceVersion: resourceVersion || undefined,
    deletionTimestamp: deletionTimestamp || undefined,
    labels,
  })
}

/** Returns the controller of a workload. All pods of a ReplicaSet share it. */
function controllerOf({ ownerReferences }: ObjectMeta): Workload['controller'] {
  const owner = ownerReferences?.find(({ controller }) => controller)
  return owner && intern.json({ apiVersion: owner.apiVersion, kind: owner.kind, name: owner.name })
}

/** A digest of the object without its status, resourceVersion and managedFields. */
function dependentContent(raw: K8sObject): { content: string } {
  const { status: _status, metadata, ...rest } = raw as K8sObject & { status?: unknown }
  const {
    resourceVersion: _version,
    managedFields: _managed,
    ...own
  } = metadata as ObjectMeta & { managedFields?: unknown }
  return {
    content: createHash('sha1')
      .update(JSON.stringify([own, rest], sortedMembers))
      .digest('base64'),
  }
}
