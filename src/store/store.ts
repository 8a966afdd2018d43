/** The interface of the stores: reads of cached objects by name and by index, and writes. */
import type { K8sObject, ResourceType } from '../api/meta.ts'

/** The cached fields of a kind, and its indexes. Declared once per kind in `store/kinds/cached-kinds.ts`. */
export interface CachedKind<T extends K8sObject> {
  type: ResourceType<T>
  /** Reduces a raw object to the fields that decisions read: 100,000 bindings have to fit in memory. */
  keep(raw: T): T
  /** Index name → the keys of an object. */
  indexes: Record<string, (object: T) => readonly string[]>
  /** Whether only metadata is requested. Then the content of objects, such as Secrets, never leaves the API server. */
  metadataOnly?: true
  /** Whether the API server may lack the kind. Then the kind is synced and empty after discovery has shown this. */
  optional?: boolean
  /**
   * Set for kinds whose absence must not count as a deletion. `keep`: the last objects stay cached while the API server does not serve the
   * kind. `confirm`: a deletion also counts only after its CustomResourceDefinition was read, since the deletion of a CRD deletes its objects.
   */
  absence?: 'keep' | 'confirm'
}

/** Why a kind is not available. `Terminating`: its CRD is being deleted. `Forbidden`: Lodestone may not read the kind or its CRD. */
export type UnavailableReason = 'Terminating' | 'NotServed' | 'NotEstablished' | 'Forbidden'

/** A kind that cannot be read at present. The cache has its last known objects. */
export interface UnavailableKind {
  type: ResourceType
  reason: UnavailableReason
  /** A sentence with the remedy. */
  message: string
}

/** Receives a kind that became unavailable, or with `undefined` a kind that is available again. */
export type AvailabilityListener = (type: ResourceType, unavailable: UnavailableKind | undefined) => void

export interface StoreChange {
  type: ResourceType
  /** The object before the change; absent for a new object. */
  before?: K8sObject
  /** The object after the change; absent for a deleted object. */
  after?: K8sObject
}

/** The name of an object; the namespace is absent for cluster-scoped kinds. */
export interface ObjectName {
  namespace?: string | undefined
  name: string
}

export interface WriteOptions {
  /** Called right before the request is sent, after the wait for the write limit. If it throws, nothing is written. */
  beforeWrite?: (() => void) | undefined
}

export interface CreateOptions extends WriteOptions {
  /** Whether the server only answers as it would, and stores nothing. Quotas and admission policies reject a dry run like a real creation. */
  isDryRun?: boolean | undefined
}

export interface PatchOptions extends WriteOptions {
  /** With `status`, the patch changes only the status. Without it, the status does not change. */
  subresource?: 'status' | undefined
  /**
   * Set for a server-side apply by this field manager, which takes the fields from other managers. The patch then has all fields that the
   * manager owns: the API server removes the others that it owned.
   */
  fieldManager?: string | undefined
}

/**
 * Reads return cached objects synchronously. They throw `NotSyncedError` for a kind that is not synced, because its objects are unknown.
 * Objects are shared: do not change them.
 */
export interface ObjectStore {
  get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): T | undefined
  list<T extends K8sObject>(type: ResourceType<T>): Iterable<T>
  /** The objects under `key` in one of the kind's indexes; an empty list when there is none. */
  byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string): readonly T[]
  /** The cached kinds that have an index of this name. Stores cache different kinds. */
  typesWithIndex(index: string): readonly ResourceType[]
  /** The number of cached objects of the kind. */
  size(type: ResourceType): number
  kinds(): readonly ResourceType[]
  /** Whether the API server serves the kind. A kind that it does not serve is empty, or `unavailable` with its last known objects. */
  serves(type: ResourceType): boolean
  synced(): boolean
  /** The kinds that are not synced yet, for the readiness probe and error messages. */
  unsynced(): readonly ResourceType[]
  /** The kinds that were read before and cannot be read now. An object that is missing in one of them may exist. */
  unavailable(): readonly UnavailableKind[]
  /** Calls `listener` when a kind becomes unavailable or available. Returns a function that unsubscribes. */
  subscribeAvailability(listener: AvailabilityListener): () => void
  /**
   * Milliseconds since the last response of the server for each kind; `ageMs` is absent before the first one. Undefined for a store without
   * a server.
   */
  contactAges?(): readonly { kind: string; ageMs?: number }[]
  /**
   * Calls `listener` for every change after the first read of a kind; objects of the initial list are not changes. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (change: StoreChange) => void): () => void

  /** Creates an object. The server generates a name for `generateName`. Throws `ConflictError` when the object exists. */
  create<T extends K8sObject>(type: ResourceType<T>, object: T, options?: CreateOptions): Promise<T>
  /**
   * Replaces an object with the same `metadata.resourceVersion`. Throws `ConflictError` when it changed, and `NotFoundError` when it was
   * deleted.
   */
  update<T extends K8sObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<T>
  /**
   * Changes an object by a JSON merge patch (RFC 7386), or by a server-side apply, and returns the result. A `metadata.resourceVersion` in the
   * patch is a precondition. Throws `ConflictError` when the object changed since, and `NotFoundError` when it was deleted.
   */
  patch<T extends K8sObject>(
    type: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    options?: PatchOptions,
  ): Promise<T>
  /**
   * Deletes an object if its `metadata.resourceVersion`, and its uid if given, are still the same. An object with finalizers is marked and
   * stays until the last one is removed. Does nothing for an object that was deleted already. Throws `ConflictError` if the object changed.
   */
  delete<T extends K8sObject>(type: ResourceType<T>, object: T, options?: WriteOptions): Promise<void>
  /** Reads one object without the cache, for kinds that are not cached and before writes. */
  read<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): Promise<T | undefined>

  /** Resolves when every kind is synced; rejects only when `signal` aborts. */
  start(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

export interface PodLogRequest extends ObjectName {
  container: string
  /** The number of last lines. */
  lines: number
  signal: AbortSignal
}

/** Returns the last lines of a log. Throws if the log is not available, and when `signal` aborts. */
export type PodLogReader = (request: PodLogRequest) => Promise<string>

/** A kind was read before it was synced. The caller must treat the result as unknown. */
export class NotSyncedError extends Error {
  override name = 'NotSyncedError'
  readonly kind: string
  constructor(kind: string) {
    super(`${kind} objects have not been read yet`)
    this.kind = kind
  }
}

/** The object was changed or created since it was read. */
export class ConflictError extends Error {
  override name = 'ConflictError'
}

/** The object to write was deleted. */
export class NotFoundError extends Error {
  override name = 'NotFoundError'
}

/** The namespace or the kind of the object to write does not exist. The message names it, and is the same for all objects in it. */
export class MissingPrerequisiteError extends Error {
  override name = 'MissingPrerequisiteError'
}

/** The namespace of an object to create is being deleted, and takes no new objects. */
export class NamespaceTerminatingError extends Error {
  override name = 'NamespaceTerminatingError'
  readonly status = 403
}

/**
 * The message of an error with which the API server rejects an object because of a policy, a quota, its validation or its size. A retry would
 * fail too. A ValidatingAdmissionPolicy rejects with 403, 413 or 422 (its field `reason`). Undefined for any other error.
 */
export function rejectionMessage(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof ConflictError || !('status' in error)) return undefined
  return [400, 403, 413, 422].includes(error.status as number) ? error.message : undefined
}

/** Whether the API server rejected an object because its schema requires a field that is missing (field.ErrorTypeRequired). */
export function isMissingField(error: unknown): boolean {
  const { details } = error instanceof Error ? (error as { details?: { causes?: readonly string[] } }) : {}
  return details?.causes?.includes('FieldValueRequired') === true
}
