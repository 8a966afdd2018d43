/** The storage of the fake API server: objects by collection, one version counter, and a log of events for watches. */
import { collectionPath, type K8sObject, objectKey, type ResourceType } from '../../api/meta.ts'

export interface LoggedEvent {
  version: number
  collection: string
  type: 'ADDED' | 'MODIFIED' | 'DELETED'
  object: K8sObject
}

/** The objects of a kind: in one namespace, or in all. */
interface Collection {
  collection: string
  namespace?: string | undefined
}

export interface ListPage {
  items: K8sObject[]
  metadata: { resourceVersion: string; continue?: string }
}

export class ApiObjects {
  readonly #objects = new Map<string, K8sObject>()
  readonly #snapshots = new Map<string, K8sObject[]>()
  #log: LoggedEvent[] = []
  #compactedBefore = 0
  #version = 100

  get version(): string {
    return String(this.#version)
  }

  get(collection: string, namespace: string | undefined, name: string): K8sObject | undefined {
    return this.#objects.get(keyOf(collection, namespace, name))
  }

  put(type: ResourceType, object: K8sObject): LoggedEvent {
    const { namespace, name = '', uid } = object.metadata
    const key = keyOf(collectionPath(type), namespace, name)
    const before = this.#objects.get(key)
    const version = ++this.#version
    const identity = { uid: before?.metadata.uid ?? uid ?? `uid-${version}`, resourceVersion: String(version) }
    const stored = { ...object, metadata: { ...object.metadata, ...identity } }
    this.#objects.set(key, stored)
    return this.#record(type, before === undefined ? 'ADDED' : 'MODIFIED', stored)
  }

  remove(type: ResourceType, namespace: string | undefined, name: string): LoggedEvent {
    const key = keyOf(collectionPath(type), namespace, name)
    const before = this.#objects.get(key)
    if (before === undefined) throw new Error(`the test removes ${key}, which is not there`)
    this.#objects.delete(key)
    const metadata = { ...before.metadata, resourceVersion: String(++this.#version) }
    return this.#record(type, 'DELETED', { ...before, metadata })
  }

  /** Returns one page of a list. As in Kubernetes, every page shows the state of the first one. Undefined when the token is too old. */
  page({ collection, namespace }: Collection, limit: number, token: string | null): ListPage | undefined {
    const [snapshot = '', offset = '0'] = (token ?? this.version).split(':')
    // Two collections can be read at the same version.
    const key = `${collection} ${namespace ?? ''} ${snapshot}`
    if (token === null) this.#snapshots.set(key, this.#all({ collection, namespace }))
    const all = this.#snapshots.get(key)
    if (all === undefined) return undefined
    const end = limit > 0 ? Number(offset) + limit : all.length
    const rest = end < all.length ? { continue: `${snapshot}:${end}` } : {}
    return { items: all.slice(Number(offset), end), metadata: { resourceVersion: snapshot, ...rest } }
  }

  /** The events of a collection after `version`; undefined when the version was compacted. */
  since({ collection, namespace }: Collection, version: number): LoggedEvent[] | undefined {
    if (version < this.#compactedBefore) return undefined
    return this.#log.filter(
      (event) =>
        event.version > version && event.collection === collection && isIn(event.object.metadata.namespace, namespace),
    )
  }

  compact(): void {
    this.#log = []
    this.#compactedBefore = this.#version
    this.#snapshots.clear()
  }

  /** Returns a function that restores the present state, with its resource version, as a snapshot of etcd does. */
  backUp(): () => void {
    const [objects, version] = [[...this.#objects], this.#version]
    return () => {
      this.#objects.clear()
      for (const [key, object] of objects) this.#objects.set(key, object)
      this.#version = version
      this.#log = this.#log.filter((event) => event.version <= version)
    }
  }

  #all({ collection, namespace }: Collection): K8sObject[] {
    return [...this.#objects]
      .filter(([key, { metadata }]) => key.startsWith(`${collection} `) && isIn(metadata.namespace, namespace))
      .map(([, object]) => object)
  }

  #record(type: ResourceType, event: LoggedEvent['type'], object: K8sObject): LoggedEvent {
    const logged = { version: this.#version, collection: collectionPath(type), type: event, object }
    this.#log.push(logged)
    return logged
  }
}

function keyOf(collection: string, namespace: string | undefined, name: string): string {
  return `${collection} ${objectKey(namespace, name)}`
}

function isIn(namespace: string | undefined, wanted: string | undefined): boolean {
  return wanted === undefined || namespace === wanted
}
