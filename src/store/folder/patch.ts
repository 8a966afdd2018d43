/** Patches an object in a folder store, by the rules of an API server. */
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import { applyMergePatch } from '../../core/merge-patch.ts'
import { describe } from '../cluster/object-writer.ts'
import { ConflictError, type PatchOptions } from '../store.ts'

type ObjectWithStatus = K8sObject & { status?: unknown }

/**
 * The object after a merge patch. Every kind counts as one with a status subresource: a patch of the status changes nothing else, any
 * other patch does not change the status.
 *
 * @throws ConflictError when the patch names another `metadata.resourceVersion` or `metadata.uid` than the object has
 */
export function patchedObject(
  before: ObjectWithStatus,
  patch: Record<string, unknown>,
  { subresource }: PatchOptions,
): K8sObject {
  // As it would be sent: members that are undefined are not there at all.
  const sent = JSON.parse(JSON.stringify(patch)) as Record<string, unknown>
  const given = (sent['metadata'] ?? {}) as Partial<Record<keyof ObjectMeta, unknown>>
  // Only the server sets these fields: the first two are preconditions, the others are ignored.
  const { resourceVersion, uid, generation, creationTimestamp, deletionTimestamp, ...metadata } = given
  const isSame =
    (resourceVersion ?? before.metadata.resourceVersion) === before.metadata.resourceVersion &&
    (uid ?? before.metadata.uid) === before.metadata.uid
  if (!isSame) throw new ConflictError(`${describe(before)} is not the one that the patch is for`)
  const after = applyMergePatch(before, { ...sent, metadata }) as ObjectWithStatus
  return subresource === 'status' ? withStatus(before, after.status) : withStatus(after, before.status)
}

function withStatus({ status: _, ...object }: ObjectWithStatus, status: unknown): ObjectWithStatus {
  return status === undefined ? object : { ...object, status }
}
