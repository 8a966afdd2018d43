/** Every object of a folder store: what the files say, what was written over it, and which of the two holds. */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { groupOf, type K8sObject, type ResourceType } from '../api/meta.ts'
import { kindKey } from './kinds.ts'
import type { Manifest } from './manifests.ts'
import { describe, refuseVersion, requireVersion } from './object-writer.ts'
import { ConflictError, NotFoundError } from './store.ts'

/** An object as it is now; `file` and `line` of where it came from, absent for one that was only ever written. */
export interface FolderObject {
  object: K8sObject
  file?: string
  line?: number
}

interface Entry extends FolderObject {
  /** The manifest that was last taken over, as the file has it. */
  source?: K8sObject
}

export class FolderObjects {
  readonly #types: ReadonlyMap<string, ResourceType>
  readonly #entries = new Map<string, Entry>()
  #version = 0

  /** `types` are the kinds whose scope is known, by `kindKey`. */
  constructor(types: ReadonlyMap<string, ResourceType>) {
    this.#types = types
  }

  values(): Iterable<FolderObject> {
    return this.#entries.values()
  }

  get(type: ResourceType, namespace: string | undefined, name: string): K8sObject | undefined {
    const found = this.#entries.get(keyOf(kindKey(type), type.namespaced ? (namespace ?? 'default') : '', name))
    if (found !== undefined || namespace !== 'default') return found?.object
    // Of kinds that are not cached the scope is unknown: their objects without a namespace are kept without one.
    return this.#entries.get(keyOf(kindKey(type), '', name))?.object
  }

  /**
   * Takes over what the files say now. A manifest that changed wins over what was written; one that did not leaves it alone;
   * an object whose manifest went goes too. The first manifest of an object holds: `duplicate` is told of any other.
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
    for (const [key, manifest] of winners) this.#take(key, manifest)
  }

  /** Throws `ConflictError` when the object exists. */
  create(object: K8sObject): K8sObject {
    refuseVersion(object)
    const key = this.#keyOf(object)
    if (this.#entries.has(key)) throw new ConflictError(`${describe(object)} already exists`)
    const created = this.#stamp(key, object)
    this.#entries.set(key, { object: created })
    return created
  }

  /** Throws `ConflictError` for an old resource version, `NotFoundError` when there is no such object. */
  update(object: K8sObject): K8sObject {
    requireVersion(object)
    const key = this.#keyOf(object)
    const entry = this.#entries.get(key)
    if (entry === undefined) throw new NotFoundError(`${describe(object)} not found`)
    if (entry.object.metadata.resourceVersion !== object.metadata.resourceVersion) {
      throw new ConflictError(`${describe(object)} changed since it was read`)
    }
    // As an API server: what changes nothing makes no new version, and so no event.
    if (isDeepStrictEqual(entry.object, object)) return entry.object
    const updated = this.#stamp(key, object, entry.object)
    // The last finalizer of a deleted object is what still held it.
    if (updated.metadata.deletionTimestamp && !updated.metadata.finalizers?.length) this.#entries.delete(key)
    else this.#entries.set(key, { ...entry, object: updated })
    return updated
  }

  #take(key: string, { object, file, line }: Manifest): void {
    const before = this.#entries.get(key)
    if (before?.source !== undefined && (before.source === object || isDeepStrictEqual(before.source, object))) {
      this.#entries.set(key, { ...before, source: object, file, line })
      return
    }
    this.#entries.set(key, { object: this.#stamp(key, object, before?.object), source: object, file, line })
  }

  /** A copy with what an API server adds: uid, generation, a version higher than every other, the default namespace. */
  #stamp(key: string, object: K8sObject, before?: K8sObject): K8sObject {
    const { namespace: given, ...metadata } = structuredClone(object.metadata)
    const namespace = this.#namespaceOf(object) || undefined
    const generation = before?.metadata.generation ?? 0
    const sameSpec = before !== undefined && isDeepStrictEqual(specOf(before), specOf(object))
    return {
      ...structuredClone(object),
      metadata: {
        ...metadata,
        ...(namespace !== undefined && { namespace }),
        uid: before?.metadata.uid ?? metadata.uid ?? uidOf(key),
        generation: sameSpec ? generation : Math.max(generation + 1, metadata.generation ?? 0),
        resourceVersion: String(++this.#version),
      },
    }
  }

  #keyOf(object: K8sObject): string {
    const group = groupOf(object.apiVersion)
    return keyOf(kindKey({ group, kind: object.kind }), this.#namespaceOf(object), object.metadata.name ?? '')
  }

  #namespaceOf(object: K8sObject): string {
    const type = this.#types.get(kindKey({ group: groupOf(object.apiVersion), kind: object.kind }))
    if (type === undefined) return object.metadata.namespace ?? ''
    return type.namespaced ? (object.metadata.namespace ?? 'default') : ''
  }
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`
}

function specOf(object: K8sObject): unknown {
  return (object as K8sObject & { spec?: unknown }).spec
}

/** Shaped like a uid, and the same for the same object in every run, so that outputs can be compared. */
function uidOf(key: string): string {
  const hex = createHash('sha256').update(key).digest('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}
