// An API server in memory: versions, admission, finalizers, deletion of CRDs, and one feed of changes per reader. Stored objects are
// never changed, so readers share them.
import { isDeepStrictEqual } from 'node:util'
import { applyMergePatch } from '../../src/base/merge-patch.ts'
import { ConflictError, MissingPrerequisiteError, NotFoundError } from '../../src/store/store.ts'
import type { VirtualClock } from './clock.ts'
import type { ApiObject } from './karmada.ts'

// A write of an object. `sent` is the object before admission.
export interface Write {
  writer: string
  before?: ApiObject
  sent?: ApiObject
  after?: ApiObject
}

// A change in a feed. Without `before` and `after`, the server no longer serves the kind.
export interface Change {
  before?: ApiObject
  after?: ApiObject
}

export interface AdmissionCall {
  writer: string
  before: ApiObject | undefined
  object: ApiObject
}

// Reviews a write. Returns the admitted object, and throws DeniedError.
export type Admit = (call: AdmissionCall) => ApiObject

// A webhook or the API server rejected a write.
export class DeniedError extends Error {
  override name = 'DeniedError'
  readonly status = 422
}

// The changes that a reader has not received. Changes of one kind arrive in order; kinds are independent, as watches are.
export class Feed {
  readonly #pending = new Map<string, Change[]>()
  readonly #kinds: ReadonlySet<string> | undefined

  constructor(kinds?: Iterable<string>) {
    this.#kinds = kinds && new Set(kinds)
  }

  push(kind: string, change: Change): void {
    if (this.#kinds && !this.#kinds.has(kind)) return
    const changes = this.#pending.get(kind)
    if (changes) changes.push(change)
    else this.#pending.set(kind, [change])
  }

  take(kind: string): Change | undefined {
    const changes = this.#pending.get(kind)
    const change = changes?.shift()
    if (changes?.length === 0) this.#pending.delete(kind)
    return change
  }

  // The kinds with changes.
  kinds(): string[] {
    return [...this.#pending.keys()]
  }
}

export class ApiServer {
  readonly #clock: VirtualClock
  readonly #objects = new Map<string, Map<string, ApiObject>>()
  readonly #feeds = new Set<Feed>()
  readonly #unserved = new Set<string>()
  #version = 0
  #uids = 0
  // Set after construction: admission reads this server.
  admit: Admit = ({ object }) => object
  // Called after each write, in order.
  onWrite: (write: Write) => void = () => {}

  constructor(clock: VirtualClock) {
    this.#clock = clock
  }

  // How many versions were written.
  get version(): number {
    return this.#version
  }

  // The kinds whose CRD is being deleted.
  readonly terminating = new Set<string>()

  openFeed(kinds?: Iterable<string>): Feed {
    const feed = new Feed(kinds)
    this.#feeds.add(feed)
    return feed
  }

  closeFeed(feed: Feed): void {
    this.#feeds.delete(feed)
  }

  serves(kind: string): boolean {
    return !this.#unserved.has(kind)
  }

  // Whether the CRD of a kind is there, and is not being deleted.
  isEstablished(kind: string): boolean {
    return this.serves(kind) && !this.terminating.has(kind)
  }

  list<T extends ApiObject>(kind: string): T[] {
    return [...(this.#objects.get(kind)?.values() ?? [])] as T[]
  }

  get<T extends ApiObject>(kind: string, namespace: string | undefined, name: string): T | undefined {
    return this.#objects.get(kind)?.get(keyOf(namespace, name)) as T | undefined
  }

  create(writer: string, object: ApiObject): ApiObject {
    const { kind } = object
    const { namespace, name = '' } = object.metadata
    this.#requireServed(kind)
    if (namespace && !this.get('Namespace', undefined, namespace)) {
      throw new MissingPrerequisiteError(`namespaces "${namespace}" not found`)
    }
    if (this.get(kind, namespace, name)) throw new ConflictError(`${kind} ${name} already exists`)
    const admitted = this.admit({ writer, before: undefined, object })
    return this.#store({ writer, sent: object, after: admitted })
  }

  // Replaces an object. A resourceVersion is a precondition.
  update(writer: string, object: ApiObject): ApiObject {
    const before = this.#stored(object.kind, object.metadata.namespace, object.metadata.name)
    const { resourceVersion = before.metadata.resourceVersion } = object.metadata
    if (resourceVersion !== before.metadata.resourceVersion) throw new ConflictError(`${object.kind} changed`)
    // The status is a subresource of every kind here.
    const sent = withStatus(object, (before as { status?: unknown }).status)
    const admitted = this.admit({ writer, before, object: sent })
    return this.#store({ writer, before, sent, after: admitted })
  }

  // Applies a merge patch. A resourceVersion in it is a precondition. A patch of the status passes no admission.
  patch(
    writer: string,
    { kind, namespace, name }: { kind: string; namespace?: string | undefined; name: string },
    patch: object,
    subresource?: 'status',
  ): ApiObject {
    const before = this.#stored(kind, namespace, name)
    // As on the wire, fields that are undefined are absent.
    const { metadata: given = {}, ...rest } = JSON.parse(JSON.stringify(patch))
    const { resourceVersion = before.metadata.resourceVersion, uid = before.metadata.uid, ...metadata } = given
    if (resourceVersion !== before.metadata.resourceVersion || uid !== before.metadata.uid) {
      throw new ConflictError(`${kind} ${name} changed`)
    }
    const patched = applyMergePatch(before, { ...rest, metadata }) as ApiObject & { status?: unknown }
    if (subresource === 'status') {
      const after = withStatus(before, patched.status)
      return this.#store({ writer, before, sent: after, after })
    }
    const sent = withStatus(patched, (before as { status?: unknown }).status)
    return this.#store({ writer, before, sent, after: this.admit({ writer, before, object: sent }) })
  }

  // Deletes an object, or marks it while it has finalizers. Does nothing if it does not exist.
  delete(writer: string, kind: string, namespace: string | undefined, name: string): void {
    const before = this.get(kind, namespace, name)
    if (!before) return
    if (!before.metadata.finalizers?.length) return void this.#remove(writer, before)
    if (before.metadata.deletionTimestamp) return
    const metadata = { ...before.metadata, deletionTimestamp: this.#clock.stamp() }
    this.#store({ writer, before, after: { ...before, metadata } })
  }

  // Ceases to serve a kind without objects, or serves it again.
  setServed(kind: string, served: boolean): void {
    if (served === this.serves(kind)) return
    if (served) this.#unserved.delete(kind)
    else this.#unserved.add(kind)
    for (const feed of this.#feeds) feed.push(kind, {})
  }

  #stored(kind: string, namespace: string | undefined, name = ''): ApiObject {
    this.#requireServed(kind)
    const stored = this.get(kind, namespace, name)
    if (!stored) throw new NotFoundError(`${kind} ${name} not found`)
    return stored
  }

  #requireServed(kind: string): void {
    if (!this.serves(kind))
      throw new MissingPrerequisiteError(`the server could not find the requested resource (${kind})`)
  }

  #store({ writer, before, sent, after }: Write): ApiObject {
    const object = after as ApiObject & { spec?: unknown }
    const old = before as typeof object | undefined
    const deletionTimestamp = old?.metadata.deletionTimestamp ?? object.metadata.deletionTimestamp
    const metadata = { ...object.metadata, ...(deletionTimestamp && { deletionTimestamp }) }
    if (old && isDeepStrictEqual({ ...object, metadata }, old)) return old
    if (old && deletionTimestamp && !metadata.finalizers?.length) {
      this.#remove(writer, old)
      return { ...object, metadata }
    }
    const generation = old?.metadata.generation ?? 0
    const isSame = old !== undefined && isDeepStrictEqual(old.spec, object.spec)
    const stored: ApiObject = {
      ...object,
      metadata: {
        ...metadata,
        uid: old?.metadata.uid ?? `uid-${++this.#uids}`,
        generation: isSame ? generation : generation + 1,
        resourceVersion: String(++this.#version),
      },
    }
    const { kind } = stored
    const objects = this.#objects.get(kind) ?? new Map<string, ApiObject>()
    this.#objects.set(kind, objects.set(keyOf(stored.metadata.namespace, stored.metadata.name), stored))
    this.#publish({ writer, ...(old && { before: old }), ...(sent && { sent }), after: stored })
    return stored
  }

  #remove(writer: string, before: ApiObject): void {
    this.#version++
    this.#objects.get(before.kind)?.delete(keyOf(before.metadata.namespace, before.metadata.name))
    this.#publish({ writer, before })
  }

  #publish(write: Write): void {
    const { before, after } = write
    const change = { ...(before && { before }), ...(after && { after }) }
    const kind = (after ?? before)?.kind ?? ''
    for (const feed of this.#feeds) feed.push(kind, change)
    this.onWrite(write)
  }
}

export function keyOf(namespace: string | undefined, name = ''): string {
  return namespace ? `${namespace}/${name}` : name
}

function withStatus(object: ApiObject, status: unknown): ApiObject {
  const { status: _sent, ...rest } = object as ApiObject & { status?: unknown }
  return status === undefined ? rest : ({ ...rest, status } as ApiObject)
}
