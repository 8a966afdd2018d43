/** Finds the volumes that a workload inherits from the object whose controller created it. */
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import type { OwnerRequest } from '../core/workload/decide-workload.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../store/store.ts'

/**
 * Returns the annotation of the owner of a workload, from the cache. Undefined if no controller owns the workload, or if the kind of the
 * owner passes the annotation on itself.
 */
export function requestOfOwner(
  { metadata }: K8sObject,
  namespace: string | undefined,
  kinds: WorkloadKinds,
  store: ObjectStore,
): OwnerRequest | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  const kind = owner && kinds.find(owner.apiVersion, owner.kind)
  if (!owner || !kind?.inherits || !store.serves(kind.type)) return undefined
  const stored = store.get(kind.type, namespace, owner.name)
  const title = `${owner.kind} ${owner.name}`
  return stored ? { title, annotation: stored.metadata.annotations?.[VOLUMES_ANNOTATION] } : { title, isUnknown: true }
}
