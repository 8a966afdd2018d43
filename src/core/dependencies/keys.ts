/** The keys by which workloads and what they depend on find each other in indexes. */
import type { DependentObjectReference } from '../../api/dependencies.ts'
import type { K8sObject } from '../../api/meta.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { sortedUnique } from '../json.ts'
import { referenceTo } from './references.ts'
import type { Workload } from './workload.ts'

/**
 * `apiVersion/kind/namespace/name` of an object, or of what a reference names. A reference by label selector names no object: its key ends
 * with the slash. It is the key of every object of the kind in the namespace, without the name.
 */
export function dependencyKey(of: DependentObjectReference | K8sObject): string {
  const { namespace = '', name = '' } = 'metadata' in of ? of.metadata : of
  return `${of.apiVersion}/${of.kind}/${namespace}/${name}`
}

/** The object of a key, by name only. */
export function objectOfKey(key: string): K8sObject {
  const [name = '', namespace, kind = '', ...apiVersion] = key.split('/').reverse()
  return { apiVersion: apiVersion.reverse().join('/'), kind, metadata: { ...(namespace && { namespace }), name } }
}

/** The keys of everything that the workload itself names, sorted, each once; of VolumeManagers also those that do not exist. */
export function referenceKeys({ metadata, dependencies }: Workload): string[] {
  const managers = dependencies.volumeManagers.map((name) =>
    referenceTo({ type: volumeManagers, name }, metadata.namespace),
  )
  return sortedUnique([...dependencies.references, ...dependencies.furtherReferences, ...managers].map(dependencyKey))
}
