/** Finds the bindings of workloads in the cache, by index or by name. */
import type { DataSourceClaim, WorkloadReference } from '../api/data-source-claim.ts'
import {
  bindingTypeIn,
  clusterResourceBindings,
  isBinding,
  type ResourceBinding,
  resourceBindings,
} from '../api/karmada.ts'
import { type K8sObject, nameOfObject, type ResourceType } from '../api/meta.ts'
import { workloadKey, workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import { bindingName } from '../core/resource-binding/derive.ts'
import type { ObjectName, ObjectStore } from '../store/store.ts'

/** Returns the bindings of a workload; none if the store caches no bindings. Throws `NotSyncedError` before they are cached. */
export function bindingsOfWorkload(workload: WorkloadReference, store: ObjectStore): ResourceBinding[] {
  const cachedTypes = store
    .typesWithIndex('workload')
    .filter(({ kind }) => isBinding(kind)) as ResourceType<ResourceBinding>[]
  return cachedTypes.flatMap((type) => store.byIndex(type, 'workload', workloadKey(workload)))
}

/** Returns the bindings of the workloads that a claim may name. */
export function bindingsOfClaim(claim: DataSourceClaim, store: ObjectStore): ResourceBinding[] {
  return workloadsOfClaim(claim).flatMap((workload) => bindingsOfWorkload(workload, store))
}

/** Returns the binding of an object, by the name that Karmada generates. */
export function objectBinding(object: K8sObject, store: ObjectStore): ResourceBinding | undefined {
  const { namespace, name } = nameOfObject(object)
  return bindingNamed({ namespace, name: bindingName(object.kind, name) }, store)
}

/** Returns the binding with this name; without a namespace it is a ClusterResourceBinding. */
export function bindingNamed({ namespace, name }: ObjectName, store: ObjectStore): ResourceBinding | undefined {
  return store.get(bindingTypeIn(namespace), namespace, name)
}

/** Yields the bindings of both kinds. */
export function* allBindings(store: ObjectStore): Generator<ResourceBinding, void, undefined> {
  for (const type of [resourceBindings, clusterResourceBindings]) yield* store.list(type)
}
