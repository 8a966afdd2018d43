/** The index keys by which workloads and their dependencies find each other. */
import { type DependentObjectReference, serviceAccounts } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { defined, sortedUnique } from '../../base/json.ts'
import { referenceTo } from '../workload-kinds/references.ts'
import { DEFAULT_SERVICE_ACCOUNT, type Workload } from './workload.ts'

/**
 * Returns `apiVersion/kind/namespace/name` of an object or a reference. A reference by label selector has no name, so its key ends with the
 * slash. That key is also the prefix of the keys of all objects of the kind in the namespace.
 */
export function dependencyKey(of: DependentObjectReference | K8sObject): string {
  const { namespace = '', name = '' } = 'metadata' in of ? of.metadata : of
  return `${of.apiVersion}/${of.kind}/${namespace}/${name}`
}

/** Returns the object of a key, with apiVersion, kind, namespace and name only. */
export function objectOfKey(key: string): K8sObject {
  const [name = '', namespace, kind = '', ...apiVersion] = key.split('/').reverse()
  return {
    apiVersion: apiVersion.reverse().join('/'),
    kind,
    metadata: defined({ namespace: namespace || undefined, name }),
  }
}

/** Pods without a ServiceAccount get `default` (plugin/pkg/admission/serviceaccount). Empty for a workload without such pods. */
export function defaultAccountOf({
  metadata,
  dependencies,
}: Pick<Workload, 'metadata' | 'dependencies'>): DependentObjectReference[] {
  if (!dependencies.usesDefaultServiceAccount) return []
  return [referenceTo({ type: serviceAccounts, name: DEFAULT_SERVICE_ACCOUNT }, metadata.namespace)]
}

/**
 * Returns the keys of all objects that the workload names, sorted, without duplicates. VolumeManagers are included even if they do not
 * exist, and so is the ServiceAccount of its pods.
 */
export function referenceKeys({ metadata, dependencies }: Workload): string[] {
  const managers = dependencies.volumeManagers.map((name) =>
    referenceTo({ type: volumeManagers, name }, metadata.namespace),
  )
  const { references, furtherReferences } = dependencies
  // A change of the pull Secrets of its ServiceAccount concerns the workload.
  const accounts = defaultAccountOf({ metadata, dependencies })
  return sortedUnique([...references, ...furtherReferences, ...managers, ...accounts].map(dependencyKey))
}
