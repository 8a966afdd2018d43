/** Patches an object of a folder store by the rules of an API server. */
import type { K8sObject, ObjectMeta } from '../../api/meta.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { describe } from '../cluster/object-writer.ts'
import { ConflictError, type PatchOptions } from '../store.ts'

type ObjectWithStatus = K8sObject & { status?: unknown }

/**
 * Returns the object after a merge patch. Every kind has a status subresource here: a patch of the status changes only the status, and any
 * other patch does not change it.
 *
 * @throws ConflictError when `metadata.resourceVersion` or `metadata.uid` of the patch differs from the object
 */
export function patchedObject(
  before: ObjectWithStatus,
  patch: Record<string, unknown>,
  { subresource }: PatchOptions,
): K8sObject {
  // As on the wire, fields that are undefined are absent.
  const sent = JSON.parse(JSON.stringify(patch)) as Record<string, unknown>
  const given = (sent['metadata'] ?? {}) as Partial<Record<keyof ObjectMeta, unknown>>
  // Only the server sets these fields: the first two are preconditions, the others are ignored.
  const { resourceVersion, uid, generation, creationTimestamp, deletionTimestamp, ...metadata } = given
  const isSame =
    (resourceVersion ?? before.metadata.resourceVersion) === before.metadata.resourceVersion &&
    (uid ?? before.metadata.uid) === before.metadata.uid
  if (!isSame) throw new ConflictError(`${describe(before)}: uid or resourceVersion of the patch differs`)
  const after = applyMergePatch(before, { ...sent, metadata }) as ObjectWithStatus
  return subresource === 'status' ? withStatus(before, after.status) : withStatus(after, before.status)
}

function withStatus({ status: _, ...object }: ObjectWithStatus, status: unknown): ObjectWithStatus {
  return status === undefined ? object : { ...object, status }
}
