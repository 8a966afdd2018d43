/** Finds, on a hub, the VolumeManagers that a workload's pods name, and the bindings of the workloads that name one. */
import { isBinding, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { type K8sObject, referenceOf } from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import type { ClaimAnswer } from '../core/data-source-claim/locate.ts'
import { dependencyKey } from '../core/dependencies/keys.ts'
import { referenceTo } from '../core/dependencies/references.ts'
import { type Workload, workloadOf } from '../core/dependencies/workload.ts'
import { bindingName } from '../core/resource-binding/derive.ts'
import { locateVolumeManager, type VolumeUse } from '../core/volume-manager/locate.ts'
import { workloadTypeOf } from './gather-dependents.ts'
import { bindingNamed, bindingsOfWorkload } from './gather-workload.ts'
import type { ObjectStore } from './store.ts'

/** Where the VolumeManagers of a bound workload are; none where workloads are not held, or it is not there yet. */
export function locateVolumes({ spec }: ResourceBinding, store: ObjectStore): ClaimAnswer[] {
  const { resource, propagateDeps = false } = spec
  const { namespace } = resource
  const type = workloadTypeOf(resource)
  if (!type || namespace === undefined || !store.typesWithIndex('references').includes(type)) return []
  const workload = store.get(type, namespace, resource.name)
  if (!workload) return []
  return usesOf(workload, propagateDeps).flatMap((use) => {
    const manager = store.get(volumeManagers, namespace, use.name)
    const binding = bindingNamed({ namespace, name: bindingName(volumeManagers.kind, use.name) }, store)
    return locateVolumeManager({ ...use, manager, binding }) ?? []
  })
}

/** The same for a workload as it was sent, past the store's memory. `dependenciesFollow`: what its binding says. */
export async function readVolumes(
  object: K8sObject,
  dependenciesFollow: boolean,
  store: ObjectStore,
): Promise<ClaimAnswer[]> {
  const { namespace } = object.metadata
  const located = await Promise.all(
    usesOf(workloadOf(object), dependenciesFollow).map(async (use) => {
      const manager = await store.read(volumeManagers, namespace, use.name)
      const binding = await store.read(resourceBindings, namespace, bindingName(volumeManagers.kind, use.name))
      return locateVolumeManager({ ...use, manager, binding })
    }),
  )
  return located.filter((answer) => answer !== undefined)
}

function usesOf({ metadata, facts }: Workload, dependenciesFollow: boolean): Omit<VolumeUse, 'manager' | 'binding'>[] {
  const { namespace } = metadata
  if (namespace === undefined) return []
  const { volumeManagers: names, preferredVolumeManagers: preferred } = facts
  return names.map((name) => ({
    namespace,
    name,
    enforcement: preferred.includes(name) ? 'Preferred' : 'Required',
    dependenciesFollow,
  }))
}

/** The bindings of the workloads whose pods name the VolumeManager, whether it exists or not. */
function bindingsUsingVolumes(namespace: string | undefined, name: string, store: ObjectStore) {
  const key = dependencyKey(referenceTo({ type: volumeManagers, name }, namespace))
  return store
    .typesWithIndex('references')
    .flatMap((type) => [...store.byIndex(type, 'references', key)])
    .flatMap((workload) => bindingsOfWorkload(referenceOf(workload), store))
}

/**
 * The bindings that an object says something about by way of volumes: a VolumeManager, its binding (where it is Running), or a workload
 * whose pods name some.
 */
export function bindingsByVolume(object: K8sObject, store: ObjectStore): ResourceBinding[] {
  const { namespace, name = '' } = object.metadata
  if (object.kind === volumeManagers.kind) return bindingsUsingVolumes(namespace, name, store)
  if (isBinding(object.kind)) {
    const { resource } = (object as ResourceBinding).spec
    if (resource.kind !== volumeManagers.kind) return []
    return bindingsUsingVolumes(resource.namespace, resource.name, store)
  }
  const { facts } = object as Partial<Workload>
  return facts && facts.volumeManagers.length > 0 ? bindingsOfWorkload(referenceOf(object), store) : []
}
