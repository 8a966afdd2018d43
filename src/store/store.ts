/** The interface of every store: objects by key and by index, from memory, and writes. */
import type { K8sObject, ResourceType } from '../api/meta.ts'

/** The cached fields of a kind, and its indexes. Declared once per kind in `store/kinds/cached-kinds.ts`. */
export interface CachedKind<T extends K8sObject> {
  type: ResourceType<T>
  /** Cuts a raw object down to what a decision reads: 100,000 bindings have to fit in memory. */
  keep(raw: T): T
  /** Index name → the keys under which an object is found. */
  indexes: Record<string, (object: T) => readonly string[]>
  /** Whether only the metadata is asked for: what an object holds, a Secret above all, then never leaves the API server. */
  metadataOnly?: true
  /** Whether the API server may lack the kind (then it is synced and empty once discovery says so). */
  optional?: boolean
}

export interface StoreChange {
  type: ResourceType
  /** The object before, absent when it is new. */
  before?: K8sObject
  /** The object now, absent when it is gone. */
  after?: K8sObject
}

/** Which object of a kind; the namespace is absent for cluster-scoped kinds. */
export interface ObjectName {
  namespace?: string | undefined
  name: string
}

export interface PatchOptions {
  /** `status` changes the status and nothing else; without it the status does not change. */
  subresource?: 'status' | undefined
}

/**
 * Reads come from memory and never wait. A kind that was not read yet throws `NotSyncedError`: unknown is not empty.
 * Objects are shared: do not change them.
 */
export interface ObjectStore {
  get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): T | undefined
  list<T extends K8sObject>(type: ResourceType<T>): Iterable<T>
  /** The objects under `key` in one of the kind's indexes; an empty list when there is none. */
  byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string): readonly T[]
  /** The cached kinds that have an index of this name; stores differ in the kinds that they cache. */
  typesWithIndex(index: string): readonly ResourceType[]
  /** How many objects of the kind are cached. */
  size(type: ResourceType): number
  /** The cached kinds. */
  kinds(): readonly ResourceType[]
  /** Whether the API server serves the kind at all; a kind that it does not serve is synced and empty. */
  serves(type: ResourceType): boolean
  synced(): boolean
  /** The kinds that are not read yet, for readiness and error messages. */
  unsynced(): readonly ResourceType[]
  /** How long ago the server last answered for each kind, in ms, where there is a server; `ageMs` is absent when it never did. */
  contactAges?(): readonly { kind: string; ageMs?: number }[]
  /**
   * Calls `listener` for every change after the first read of a kind; objects of the initial list are no change. Returns a function that
   * unsubscribes.
   */
  subscribe(listener: (change: StoreChange) => void): () => void

  /** Creates an object, under a name of the server's making where it has only a `generateName`. Throws `ConflictError` when it exists. */
  create<T extends K8sObject>(type: ResourceType<T>, object: T): Promise<T>
  /** Replaces an object, guarded by its `metadata.resourceVersion`. Throws `ConflictError` when it changed, `NotFoundError` when it is gone. */
  update<T extends K8sObject>(type: ResourceType<T>, object: T): Promise<T>
  /**
   * Changes an object by a JSON merge patch (RFC 7386); returns it as it is then. A `metadata.resourceVersion` in the patch is a
   * precondition. Throws `ConflictError` when the object changed since, `NotFoundError` when it is gone.
   */
  patch<T extends K8sObject>(
    type: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    options?: PatchOptions,
  ): Promise<T>
  /**
   * Deletes an object if its `metadata.resourceVersion`, and its uid if given, are still the same. An object with finalizers is marked
   * and stays until the last one is removed. An object that is already gone is a success. Throws `ConflictError` if the object
   * changed.
   */
  delete<T extends K8sObject>(type: ResourceType<T>, object: T): Promise<void>
  /** Reads one object past the cache: for kinds that are not cached, and for writers. */
  read<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string): Promise<T | undefined>

  /** Resolves when every kind is synced; rejects only when `signal` aborts. */
  start(signal: AbortSignal): Promise<void>
  stop(): Promise<void>
}

export interface PodLogRequest extends ObjectName {
  container: string
  /** How many of the last lines. */
  lines: number
  signal: AbortSignal
}

/** Returns the last lines of a log. Throws if the log is not available, and when `signal` aborts. */
export type PodLogReader = (request: PodLogRequest) => Promise<string>

/** A kind was asked for before it was read: the caller must treat the answer as unknown. */
export class NotSyncedError extends Error {
  override name = 'NotSyncedError'
  readonly kind: string
  constructor(kind: string) {
    super(`${kind} objects have not been read yet`)
    this.kind = kind
  }
}

/** The object changed or came into being since it was read. */
export class ConflictError extends Error {
  override name = 'ConflictError'
}

/** The object to write was deleted. */
export class NotFoundError extends Error {
  override name = 'NotFoundError'
}

/** The namespace or the kind of the object to write does not exist. The message names it, and is the same for every such object. */
export class MissingPrerequisiteError extends Error {
  override name = 'MissingPrerequisiteError'
}

/**
 * Why the API server will not have an object, however often it is sent: by a policy, a quota or its validation. Undefined for any other
 * error.
 */
export function refusalOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || error instanceof ConflictError || !('status' in error)) return undefined
  return [400, 403, 422].includes(error.status as number) ? error.message : undefined
}
