/** What an uninstallation removes from one object: the write, the removed values, and the values that stay. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'
import { patchInto, type Write } from '../plan.ts'

export interface Removal {
  /** Guarded by the resourceVersion that was read; absent if there is nothing to remove. */
  write?: Write
  /** The values that the write removes, for users: `annotation lodestone.dev/hold`. */
  removes: readonly string[]
  /** What stays, and why. */
  keeps: readonly string[]
  /** Whether the object is being deleted and waits for finalizers of other controllers. */
  isEnding?: true
}

/** The removals from the objects of one kind. */
export interface RemovalRule {
  type: ResourceType
  /** The only objects to read; absent for all objects of the kind. */
  names?: readonly { namespace?: string; name: string }[]
  /** Whether `plan` reads only metadata. */
  metadataOnly?: true
  /** The object that `plan` needs beside this one; undefined for none. */
  related?(object: K8sObject): { type: ResourceType; namespace?: string; name: string } | undefined
  plan(object: K8sObject, related?: K8sObject): Removal
}

export const NOTHING_TO_REMOVE: Removal = { removes: [], keeps: [] }

/** Returns the removal that changes an object into another one: a merge patch, or nothing if both are equal. */
export function change(
  type: ResourceType,
  object: K8sObject,
  changed: K8sObject,
  removes: readonly string[],
  keeps: readonly string[] = [],
): Removal {
  const write = patchInto(type, object, changed)
  return write ? { write, removes, keeps } : { removes: [], keeps }
}

/** Returns the removal that deletes an object. */
export function deletion(type: ResourceType, object: K8sObject): Removal {
  if (object.metadata.deletionTimestamp) return { removes: [], keeps: [], isEnding: true }
  return { write: { kind: 'delete', type, object }, removes: ['the object'], keeps: [] }
}

/** Returns the object without a finalizer; the same object if it does not have it. */
export function withoutFinalizer<T extends K8sObject>(object: T, name: string): T {
  const { finalizers = [], ...metadata } = object.metadata
  if (!finalizers.includes(name)) return object
  const rest = finalizers.filter((finalizer) => finalizer !== name)
  return { ...object, metadata: rest.length > 0 ? { ...metadata, finalizers: rest } : metadata }
}

/** Returns the object without the labels or annotations that match, and their names. */
export function withoutKeys<T extends K8sObject>(
  object: T,
  field: 'labels' | 'annotations',
  isOurs: (key: string) => boolean,
): { object: T; removed: string[] } {
  const entries = Object.entries(object.metadata[field] ?? {})
  const removed = entries.map(([key]) => key).filter(isOurs)
  if (removed.length === 0) return { object, removed }
  const kept = Object.fromEntries(entries.filter(([key]) => !isOurs(key)))
  return { object: { ...object, metadata: { ...object.metadata, [field]: kept } }, removed }
}
