/** The plan of a reconcile: actions as data, which reconcile/apply.ts applies. */
import { type K8sObject, nameOfObject, type ResourceType } from '../api/meta.ts'
import { type Node, nodes } from '../api/node.ts'
import { defined } from '../base/json.ts'
import { mergePatch } from '../base/merge-patch.ts'
import type { EventReason } from './signal-tables.ts'

/** Writes a whole object: creates it, or updates the resourceVersion that was read. */
export interface WriteAction {
  kind: 'create' | 'update'
  type: ResourceType
  object: K8sObject
  /** Whether a creation is only tried: the server answers as it would, and stores nothing. */
  isDryRun?: true
}

/** A JSON merge patch (RFC 7386). With `metadata.resourceVersion` in it, it applies to that version only. */
export interface PatchAction {
  kind: 'patch'
  of: { type: ResourceType; namespace?: string; name: string }
  patch: Record<string, unknown>
  subresource?: 'status'
  /** Set for a server-side apply by this field manager. The patch then has all fields that the manager owns. */
  fieldManager?: string
}

export type Write =
  | WriteAction
  | PatchAction
  /** Deletes the object only if its uid and resourceVersion are those that were read. */
  | { kind: 'delete'; type: ResourceType; object: K8sObject }

/** Emits an Event about an object. No decision depends on it. */
export interface EventAction {
  kind: 'event'
  about: K8sObject
  type: 'Normal' | 'Warning'
  reason: EventReason
  message: string
  /** The id of the decision that the Event is about (decision-id.ts), if it has one. */
  decisionId?: string
}

export type Action = Write | EventAction

export interface Plan {
  actions: Action[]
  /** Reconciles again after this many ms, even without a change. */
  requeueAfterMs?: number
}

export const NOTHING: Plan = { actions: [] }

/** Returns an Event about an object. */
export function eventAbout(
  about: K8sObject,
  type: EventAction['type'],
  reason: EventReason,
  message: string,
): EventAction {
  return { kind: 'event', about, type, reason, message }
}

/**
 * Returns the patch of an object as it was read. It has the resourceVersion, so that the API server rejects it if the object was changed since.
 *
 * @param change a merge patch
 */
export function patchOf(type: ResourceType, object: K8sObject, change: Record<string, unknown>): PatchAction {
  const { resourceVersion } = object.metadata
  const metadata = { ...(change['metadata'] as object | undefined), resourceVersion }
  return { kind: 'patch', of: { type, ...nameOfObject(object) }, patch: { ...change, metadata } }
}

/** As `patchOf`, of the status. */
export function statusPatchOf(type: ResourceType, object: K8sObject, status: object): PatchAction {
  return { ...patchOf(type, object, { status }), subresource: 'status' }
}

/**
 * Returns the patch of labels or annotations of a Node; null removes one. It has the uid, so that the API server rejects it if the node was
 * replaced. It has no resourceVersion, since the kubelet writes nodes all the time.
 */
export function nodePatchOf(
  { metadata: { name = '', uid } }: Node,
  changes: Partial<Record<'labels' | 'annotations', Record<string, string | null>>>,
): PatchAction {
  return { kind: 'patch', of: { type: nodes, name }, patch: { metadata: defined({ uid, ...changes }) } }
}

/** Returns the patch that changes an object as it was read into another one; undefined if they are equal. */
export function patchInto(type: ResourceType, object: K8sObject, changed: K8sObject): PatchAction | undefined {
  const change = mergePatch(object, changed)
  return change && patchOf(type, object, change)
}
