/** Finds, on a hub, the VolumeManagers that the pods of a workload name, and the bindings of the workloads that name a VolumeManager. */
import { clusters, isBinding, type ResourceBinding } from '../api/karmada.ts'
import { apiVersionOf, type K8sObject, type ObjectReference, referenceOf } from '../api/meta.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { ClaimAnswer } from '../core/data-source/locate.ts'
import { dependencyKey } from '../core/dependencies/keys.ts'
import { locateUnread, locateVolumeManager, type VolumeUse } from '../core/dependencies/locate-volume-manager.ts'
import { interpretWorkload, type Workload } from '../core/dependencies/workload.ts'
import { hasTarget } from '../core/placement/binding-state.ts'
import { hasOurAnnotations } from '../core/resource-binding/annotations.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import { referenceTo } from '../core/workload-kinds/references.ts'
import { kindKey } from '../store/any-kind.ts'
import type { ObjectStore, StoreChange } from '../store/store.ts'
import { workloadTypeOf } from './dependents.ts'
import { isPropagated } from './policy.ts'
import { bindingsOfWorkload, objectBinding, readObjectBinding } from './workload.ts'

/** Returns the locations of a bound workload's VolumeManagers; none if workloads are not cached. */
export function locateVolumes(bound: ResourceBinding, store: ObjectStore): ClaimAnswer[] {
  const { resource, propagateDeps = false } = bound.spec
  const { namespace } = resource
  const type = workloadTypeOf(resource, store)
  if (!type || namespace === undefined) return []
  const workload = store.get(type, namespace, resource.name)
  if (!workload) return mayUseVolumes(bound, store) ? [locateUnread(resource)] : []
  return locationUses(workload, propagateDeps).flatMap((use) => {
    const manager = store.get(volumeManagers, namespace, use.name)
    const binding = objectBinding(managerReference(namespace, use.name), store)
    return locateVolumeManager({ ...use, manager, binding, isSelected: isSelected(manager, binding, store) }) ?? []
  })
}

/**
 * Whether a workload that is not cached may use volumes. Karmada may create a binding before the watch reports the workload. A deleted
 * workload stays in the clusters with its data until its binding is deleted too.
 */
function mayUseVolumes({ metadata, spec }: ResourceBinding, store: ObjectStore): boolean {
  const isOpen = !hasTarget(spec) || hasOurAnnotations(metadata.annotations)
  return isOpen && store.byIndex(clusters, 'serves', kindKey(volumeManagers)).length > 0
}

/**
 * As `locateVolumes`, for a workload that is not stored; it reads from the API server. `dependenciesFollow` is the `propagateDeps` of its
 * binding.
 */
export async function readVolumes(
  object: K8sObject,
  dependenciesFollow: boolean,
  store: ObjectStore,
  kinds: WorkloadKinds,
): Promise<ClaimAnswer[]> {
  const { namespace } = object.metadata
  const located = await Promise.all(
    locationUses(interpretWorkload(object, kinds), dependenciesFollow).map(async (use) => {
      const manager = await store.read(volumeManagers, namespace, use.name)
      const binding = await readObjectBinding(managerReference(use.namespace, use.name), store)
      return locateVolumeManager({ ...use, manager, binding, isSelected: isSelected(manager, binding, store) })
    }),
  )
  return located.filter((answer) => answer !== undefined)
}

function managerReference(namespace: string, name: string): ObjectReference {
  return { apiVersion: apiVersionOf(volumeManagers), kind: volumeManagers.kind, namespace, name }
}

/** Whether a policy selects a VolumeManager that has no placement yet. */
function isSelected(manager: VolumeManager | undefined, binding: ResourceBinding | undefined, store: ObjectStore) {
  return manager !== undefined && !binding?.spec.placement && isPropagated(manager, store)
}

function locationUses(
  { metadata, dependencies }: Workload,
  dependenciesFollow: boolean,
): Omit<VolumeUse, 'manager' | 'binding' | 'isSelected'>[] {
  const { namespace } = metadata
  if (namespace === undefined) return []
  const { volumeManagers: names, preferredVolumeManagers: preferred } = dependencies
  return names.map((name) => ({
    namespace,
    name,
    enforcement: preferred.includes(name) ? 'Preferred' : 'Required',
    dependenciesFollow,
  }))
}

/** Returns the cached workloads whose pods name the VolumeManager, even if it does not exist. */
export function workloadsWithVolumes(namespace: string | undefined, name: string, store: ObjectStore) {
  const key = dependencyKey(referenceTo({ type: volumeManagers, name }, namespace))
  return store.typesWithIndex('references').flatMap((type) => [...store.byIndex(type, 'references', key)])
}

function bindingsUsingVolumes(namespace: string | undefined, name: string, store: ObjectStore) {
  return workloadsWithVolumes(namespace, name, store).flatMap((workload) =>
    bindingsOfWorkload(referenceOf(workload), store),
  )
}

/**
 * Returns the bindings that a change concerns because of volumes. The change is of a VolumeManager, of its binding, or of a workload that
 * names VolumeManagers or was not cached before.
 */
export function bindingsByVolume({ before, after }: StoreChange, store: ObjectStore): ResourceBinding[] {
  const isSameManager = before !== undefined && after?.kind === volumeManagers.kind
  const objects = isSameManager ? [after] : [before, after]
  return objects.flatMap((object) => (object ? bindingsAround(object, before === undefined, store) : []))
}

function bindingsAround(object: K8sObject, isNew: boolean, store: ObjectStore): ResourceBinding[] {
  const { namespace, name = '' } = object.metadata
  if (object.kind === volumeManagers.kind) return bindingsUsingVolumes(namespace, name, store)
  if (isBinding(object.kind)) {
    const { resource } = (object as ResourceBinding).spec
    if (resource.kind !== volumeManagers.kind) return []
    return bindingsUsingVolumes(resource.namespace, resource.name, store)
  }
  const { dependencies } = object as Partial<Workload>
  const usesVolumes = dependencies !== undefined && dependencies.volumeManagers.length > 0
  if (!dependencies || (!usesVolumes && !isNew)) return []
  const bindings = bindingsOfWorkload(referenceOf(object), store)
  return usesVolumes ? bindings : bindings.filter(({ metadata }) => hasOurAnnotations(metadata.annotations))
}
