/** Lets the deletion of a CRD end: removes the finalizer of Lodestone from the objects that are deleted with the CRD. */
import { type K8sObject, nameOfObject, type ResourceType } from '../../api/meta.ts'
import type { ObjectName, ObjectStore } from '../../store/store.ts'
import { applyWrite } from '../apply.ts'

/** In ms. kube-apiserver deletes the objects of a CRD one after another. */
const CHECK_AGAIN_MS = 2000

/**
 * Handles an object of a kind that is not available. The cache has the object as it was before the deletion of the CRD, so it is read from the
 * API server.
 *
 * @returns undefined if the kind is available; otherwise the loop has nothing else to do, and `requeueAfterMs` is for the next check
 */
export async function handleUnavailable(
  type: ResourceType,
  reference: ObjectName,
  finalizer: string,
  store: ObjectStore,
): Promise<{ requeueAfterMs: number | undefined } | undefined> {
  const unavailable = store.unavailable().find((other) => other.type === type)
  if (!unavailable) return undefined
  if (unavailable.reason !== 'Terminating') return { requeueAfterMs: undefined }
  const object: K8sObject | undefined = await store.read(type, reference.namespace, reference.name)
  if (!object) return { requeueAfterMs: undefined }
  const { resourceVersion, deletionTimestamp, finalizers = [] } = object.metadata
  if (!deletionTimestamp) return { requeueAfterMs: CHECK_AGAIN_MS }
  if (finalizers.includes(finalizer)) {
    const others = finalizers.filter((other) => other !== finalizer)
    const patch = { metadata: { resourceVersion, finalizers: others } }
    await applyWrite(store, { kind: 'patch', of: { type, ...nameOfObject(object) }, patch })
  }
  return { requeueAfterMs: undefined }
}
