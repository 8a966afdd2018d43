/** Finds the bindings of workloads in the cache, by index or by name. */
import type { DataSourceClaim, WorkloadReference } from '../api/data-source-claim.ts'
import { bindingTypeIn, bindingTypes, isBinding, type ResourceBinding } from '../api/karmada.ts'
import type { ObjectReference, ResourceType } from '../api/meta.ts'
import { workloadKey, workloadsOfClaim } from '../core/data-source-claim/keys.ts'
import { bindingName, isBindingOf } from '../core/resource-binding/derive.ts'
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
export function objectBinding(object: ObjectReference, store: ObjectStore): ResourceBinding | undefined {
  const named = bindingForName(object, store)
  return named && isBindingOf(named, object) ? named : undefined
}

/** Reads the binding of an object from the API server. Rejects if it cannot be read. */
export async function readObjectBinding(
  object: ObjectReference,
  store: ObjectStore,
): Promise<ResourceBinding | undefined> {
  return (await readBindingByName(object, store)).binding
}

/** As `readObjectBinding`; `other` is the binding of another object that has the name of this one's. */
export async function readBindingByName(
  object: ObjectReference,
  store: ObjectStore,
): Promise<{ binding?: ResourceBinding; other?: ResourceBinding }> {
  const { kind, namespace, name } = object
  const named = await store.read(bindingTypeIn(namespace), namespace, bindingName(kind, name))
  if (!named) return {}
  return isBindingOf(named, object) ? { binding: named } : { other: named }
}

/** Returns the binding of another object that has the name of this one's; undefined if there is none. */
export function otherBinding(object: ObjectReference, store: ObjectStore): ResourceBinding | undefined {
  const named = bindingForName(object, store)
  return named && !isBindingOf(named, object) ? named : undefined
}

function bindingForName({ kind, namespace, name }: ObjectReference, store: ObjectStore): ResourceBinding | undefined {
  return bindingNamed({ namespace, name: bindingName(kind, name) }, store)
}

/** Returns the binding with this name; without a namespace it is a ClusterResourceBinding. */
export function bindingNamed({ namespace, name }: ObjectName, store: ObjectStore): ResourceBinding | undefined {
  return store.get(bindingTypeIn(namespace), namespace, name)
}

/** Yields the bindings of both kinds. */
export function* allBindings(store: ObjectStore): Generator<ResourceBinding, void, undefined> {
  for (const type of bindingTypes) yield* store.list(type)
}

/** Returns the bindings of both kinds that have this key in an index. */
export function bindingsByIndex(index: string, key: string, store: ObjectStore): ResourceBinding[] {
  return bindingTypes.flatMap((type) => [...store.byIndex(type, index, key)])
}
