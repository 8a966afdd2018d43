/** Plans the end of an object that is deleted with its CRD. The deletion of a CRD waits for the finalizers of its objects. */
import type { K8sObject, ResourceType } from '../api/meta.ts'
import { NOTHING, type Plan, patchOf } from './plan.ts'

/** In ms. kube-apiserver deletes the objects of a CRD one after another. */
const CHECK_AGAIN_MS = 2000

/**
 * Removes a finalizer of Lodestone as soon as the object is deleted.
 *
 * @param object as the API server has it; undefined if it does not exist any more
 */
export function planDeletedDefinition(type: ResourceType, object: K8sObject | undefined, finalizer: string): Plan {
  if (!object) return NOTHING
  const { deletionTimestamp, finalizers = [] } = object.metadata
  if (!deletionTimestamp) return { actions: [], requeueAfterMs: CHECK_AGAIN_MS }
  if (!finalizers.includes(finalizer)) return NOTHING
  const others = finalizers.filter((other) => other !== finalizer)
  return { actions: [patchOf(type, object, { metadata: { finalizers: others } })] }
}
