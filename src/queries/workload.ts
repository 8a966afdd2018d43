/** Finds the bindings of workloads in a store's memory, by index and by name. */
import type { DataSourceClaim, WorkloadReference } from '../api/data-source-claim.ts'
import { clusterResourceBindings, isBinding, type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import { type K8sObject, nameOfObject, type ResourceType } from '../api/meta.ts'
import { workloadKey, workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import { bindingName } from '../core/resource-binding/derive.ts'
import type { ObjectName, ObjectStore } from '../store/store.ts'

/** The bindings of a workload; none from a store that holds no bindings. Throws `NotSyncedError` before they are read. */
export function bindingsOfWorkload(workload: WorkloadReference, store: ObjectStore): ResourceBinding[] {
  const cachedTypes = store
    .typesWithIndex('workload')
    .filter(({ kind }) => isBinding(kind)) as ResourceType<ResourceBinding>[]
  return cachedTypes.flatMap((type) => store.byIndex(type, 'workload', workloadKey(workload)))
}

/** The bindings of the workloads that a claim may mean. */
export function bindingsOfClaim(claim: DataSourceClaim, store: ObjectStore): ResourceBinding[] {
  return workloadsOfClaim(claim).flatMap((workload) => bindingsOfWorkload(workload, store))
}

/** The binding of an object, by the name that Karmada gives it. */
export function bindingOf(object: K8sObject, store: ObjectStore): ResourceBinding | undefined {
  const { namespace, name } = nameOfObject(object)
  return bindingNamed({ namespace, name: bindingName(object.kind, name) }, store)
}

/** The binding of that name; without a namespace it is a ClusterResourceBinding. */
export function bindingNamed({ namespace, name }: ObjectName, store: ObjectStore): ResourceBinding | undefined {
  return store.get(namespace ? resourceBindings : clusterResourceBindings, namespace, name)
}
