/** The objects of a folder store: merges the manifests with later writes. */
import { isDeepStrictEqual } from 'node:util'
import { groupOf, type K8sObject, type ObjectMeta, objectKey, type ResourceType } from '../../api/meta.ts'
import { defined } from '../../base/json.ts'
import { applyMergePatch } from '../../base/merge-patch.ts'
import { toTime } from '../../base/time/timestamp.ts'
import { kindKey } from '../any-kind.ts'
import { objectTitle, refuseVersion, requireVersion } from '../resource-version.ts'
import { ConflictError, NotFoundError, type ObjectName, type PatchOptions } from '../store.ts'
import { generatedName, uidOf } from './identity.ts'
import type { Manifest } from './manifests.ts'
import type { Position } from './positions.ts'

/** The current object. `file`, `line` and `column` are those of its manifest, absent for an object without one. */
export interface FolderObject extends Partial<Position> {
  object: K8sObject
  file?: string
}

interface Entry extends FolderObject {
  /** The last manifest that was applied, as in the file. */
  source?: K8sObject
}

/** The tombstone of a deleted object: a manifest that still contains the object does not restore it. */
interface Tombstone {
  deletions: number
  /** The last deleted entry, while its manifest is in the folder. */
  entry?: Entry | undefined
}

export class FolderObjects {
  readonly #types: ReadonlyMap<string, ResourceType>
  readonly #entries = new Map<string, Entry>()
  readonly #tombstones = new Map<string, Tombstone>()
  #version = 0
  #generatedNames = 0

  /** @param types the kinds whose scope is known, by `kindKey` */
  constructor(types: ReadonlyMap<string, ResourceType>) {
    this.#types = types
  }

  values(): Iterable<FolderObject> {
    return this.#entries.values()
  }

  get(type: ResourceType, namespace: string | undefined, name: string): K8sObject | undefined {
    const found = this.#entries.get(entryKey(kindKey(type), type.namespaced ? (namespace ?? 'default') : '', name))
    if (found !== undefined || namespace !== 'default') return found?.object
    // The scope of kinds that are not cached is unknown. Their objects without a namespace have an empty one.
    return this.#entries.get(entryKey(kindKey(type), '', name))?.object
  }

  /**
   * Applies the current manifests. A changed manifest replaces earlier writes; an unchanged one does not. An object whose manifest was
   * removed is removed. The first manifest of an object counts, and `duplicate` is called for each other one.
   */
  replaceManifests(manifests: readonly Manifest[], duplicate: (first: Manifest, second: Manifest) => void): void {
    const winners = new Map<string, Manifest>()
    for (const manifest of manifests) {
      const key = this.#keyOf(manifest.object)
      const first = winners.get(key)
      if (first === undefined) winners.set(key, manifest)
      else duplicate(first, manifest)
    }
    for (const [key, entry] of this.#entries) {
      if (entry.source !== undefined && !winners.has(key)) this.#entries.delete(key)
    }
    for (const [key, tombstone] of this.#tombstones) {
      if (!winners.has(key)) tombstone.entry = undefined
    }
    for (const [key, manifest] of winners) this.#take(key, manifest)
  }

  /** Returns an object that can be created, with its name. Throws `ConflictError` when it exists. */
  tryCreate(given: K8sObject): K8sObject {
    refuseVersion(given)
    const object = this.#named(given)
    if (this.#entries.has(this.#keyOf(object))) throw new ConflictError(`${objectTitle(object)} already exists`)
    return object
  }

  /** Creates an object. Throws `ConflictError` when it exists. */
  create(given: K8sObject): K8sObject {
    const object = this.tryCreate(given)
    const key = this.#keyOf(object)
    const created = this.#stamp(key, object)
    const tombstone = this.#tombstones.get(key)
    this.#entries.set(key, { ...tombstone?.entry, object: created })
    if (tombstone !== undefined) tombstone.entry = undefined
    return created
  }

  /** Replaces an object. Throws `ConflictError` for an old resource version, and `NotFoundError` when the object does not exist. */
  update(object: K8sObject): K8sObject {
    requireVersion(object)
    const key = this.#keyOf(object)
    const entry = this.#entries.get(key)
    if (entry === undefined) throw new NotFoundError(`${objectTitle(object)} not found`)
    requireSame(entry.object, object)
    return this.#replace(key, entry, object)
  }

  /**
   * Patches an object. Throws `ConflictError` for an old resource version in the patch, and `NotFoundError` when the object does not exist.
   */
  patch(
    type: ResourceType,
    { namespace, name }: ObjectName,
    patch: Record<string, unknown>,
    options: PatchOptions,
  ): K8sObject {
    const before = this.get(type, namespace, name)
    const key = before && this.#keyOf(before)
    const entry = key && this.#entries.get(key)
    if (!before || !key || !entry) throw new NotFoundError(`${type.kind} ${objectKey(namespace, name)} not found`)
    const after = patchedObject(before, patch, options)
    if (this.#keyOf(after) !== key)
      throw new Error(`${objectTitle(before)}: a patch cannot change kind, namespace or name`)
    return this.#replace(key, entry, after)
  }

  /**
   * Deletes an object, or marks it when it has finalizers. Returns it; undefined when it does not exist. Throws `ConflictError` as `update`
   * does.
   *
   * @param now in ms since the epoch
   */
  delete(object: K8sObject, now: number): K8sObject | undefined {
    requireVersion(object)
    const key = this.#keyOf(object)
    const entry = this.#entries.get(key)
    if (entry === undefined) return undefined
    requireSame(entry.object, object)
    const { metadata } = entry.object
    if (!metadata.finalizers?.length) {
      this.#remove(key, entry)
      return entry.object
    }
    const deletionTimestamp = metadata.deletionTimestamp ?? toTime(now)
    return this.#replace(key, entry, { ...entry.object, metadata: { ...metadata, deletionTimestamp } })
  }

  #replace(key: string, entry: Entry, object: K8sObject): K8sObject {
    // As in an API server, a write without changes creates no new version and no event.
    if (isDeepStrictEqual(entry.object, object)) return entry.object
    const { deletionTimestamp } = entry.object.metadata
    // A write cannot remove the deletionTimestamp.
    const metadata = { ...object.metadata, ...defined({ deletionTimestamp: deletionTimestamp || undefined }) }
    const updated = this.#stamp(key, { ...object, metadata }, entry.object)
    // A deleted object is gone when its last finalizer is removed.
    if (updated.metadata.deletionTimestamp && !updated.metadata.finalizers?.length) this.#remove(key, entry)
    else this.#entries.set(key, { ...entry, object: updated })
    return updated
  }

  #remove(key: string, entry: Entry): void {
    this.#entries.delete(key)
    const deletions = (this.#tombstones.get(key)?.deletions ?? 0) + 1
    this.#tombstones.set(key, defined({ deletions, entry: entry.source === undefined ? undefined : entry }))
  }

  #take(key: string, { object, file, line, column }: Manifest): void {
    const before = this.#entries.get(key)
    const tombstone = this.#tombstones.get(key)
    const { source } = before ?? tombstone?.entry ?? {}
    if (source !== undefined && (source === object || isDeepStrictEqual(source, object))) {
      if (before !== undefined) this.#entries.set(key, { ...before, source: object, file, line, column })
      return
    }
    if (tombstone !== undefined) tombstone.entry = undefined
    this.#entries.set(key, { object: this.#stamp(key, object, before?.object), source: object, file, line, column })
  }

  /** Adds a name to an object that has only a `generateName`. */
  #named(object: K8sObject): K8sObject {
    const { name, generateName } = object.metadata
    if (name || !generateName) return object
    for (;;) {
      const metadata = { ...object.metadata, name: generatedName(generateName, ++this.#generatedNames) }
      if (!this.#entries.has(this.#keyOf({ ...object, metadata }))) return { ...object, metadata }
    }
  }

  /** Returns a copy with the fields that an API server sets: uid, generation, a new resource version and the default namespace. */
  #stamp(key: string, object: K8sObject, before?: K8sObject): K8sObject {
    const { namespace: given, ...metadata } = structuredClone(object.metadata)
    const namespace = this.#namespaceOf(object) || undefined
    const generation = before?.metadata.generation ?? 0
    const sameSpec = before !== undefined && isDeepStrictEqual(objectSpec(before), objectSpec(object))
    return {
      ...structuredClone(object),
      metadata: {
        ...metadata,
        ...defined({ namespace }),
        uid: before?.metadata.uid ?? metadata.uid ?? uidOf(key, this.#tombstones.get(key)?.deletions ?? 0),
        generation: sameSpec ? generation : Math.max(generation + 1, metadata.generation ?? 0),
        resourceVersion: String(++this.#version),
      },
    }
  }

  #keyOf(object: K8sObject): string {
    const group = groupOf(object.apiVersion)
    return entryKey(kindKey({ group, kind: object.kind }), this.#namespaceOf(object), object.metadata.name ?? '')
  }

  #namespaceOf(object: K8sObject): string {
    const type = this.#types.get(kindKey({ group: groupOf(object.apiVersion), kind: object.kind }))
    if (type === undefined) return object.metadata.namespace ?? ''
    return type.namespaced ? (object.metadata.namespace ?? 'default') : ''
  }
}

function entryKey(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}

function objectSpec(object: K8sObject): unknown {
  return (object as K8sObject & { spec?: unknown }).spec
}

/** Throws `ConflictError` when the uid or the resource version differs from the object that was read. */
function requireSame({ metadata }: K8sObject, read: K8sObject): void {
  const { uid = metadata.uid, resourceVersion } = read.metadata
  if (uid === metadata.uid && resourceVersion === metadata.resourceVersion) return
  throw new ConflictError(`${objectTitle(read)} changed since it was read`)
}

type ObjectWithStatus = K8sObject & { status?: unknown }

/**
 * Returns the object after a patch. A folder has no field managers, so a server-side apply is a merge. Every kind has a status subresource here:
 * a patch of the status changes only the status, and any other patch does not change it.
 *
 * @throws ConflictError when `metadata.resourceVersion` or `metadata.uid` of the patch differs from the object
 */
function patchedObject(
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
  if (!isSame) throw new ConflictError(`${objectTitle(before)}: uid or resourceVersion of the patch differs`)
  const after = applyMergePatch(before, { ...sent, metadata }) as ObjectWithStatus
  return subresource === 'status' ? withStatus(before, after.status) : withStatus(after, before.status)
}

function withStatus({ status: _, ...object }: ObjectWithStatus, status: unknown): ObjectWithStatus {
  return status === undefined ? object : { ...object, status }
}
