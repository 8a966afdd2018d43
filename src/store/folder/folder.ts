/** The store of a folder of manifests, without a cluster. It reads and watches the files; writes stay in memory. */
import { statSync } from 'node:fs'
import { apiVersionOf, groupOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { watchFolder } from '../../base/folder-watch.ts'
import { type Clock, systemClock } from '../../base/time/clock.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import type { ObjectChange } from '../cache/cache.ts'
import { CachedStore, type KindCache } from '../cache/cached-store.ts'
import { completeObserver, type StoreObserver } from '../observer.ts'
import { objectTitle } from '../resource-version.ts'
import type { CreateOptions, ObjectName, ObjectStore, PatchOptions, WriteOptions } from '../store.ts'
import { FolderFiles, type ValidateManifest } from './files.ts'
import type { Manifest } from './manifests.ts'
import { type FolderObject, FolderObjects } from './objects.ts'

export interface FolderStoreInput {
  /** Absent for a store in memory, which has only the objects that are written to it. */
  directory?: string
  kinds: readonly AnyCachedKind[]
  observer?: Partial<StoreObserver>
  /** Returns the errors of an object. An object with errors is reported with file and line, and not served. */
  validate?: ValidateManifest
  /** Whether files are watched after `start`. Default true; false for a command that reads once. */
  watch?: boolean
  /** How long changes are collected before the folder is read. Default 100 ms. */
  debounceMs?: number
  clock?: Clock
}

export interface FolderStore extends ObjectStore {
  /** All objects of any kind that were read or written, in the order of the files. They are shared: do not change them. */
  objects(): readonly FolderObject[]
  /** Reads the folder again. Resolves when the store has its content. */
  rescan(): Promise<void>
}

const POLL_MS = 30_000

/** Creates the store of a folder. `start` reads the files. Throws when `directory` is not a folder. */
export function openFolderStore(input: FolderStoreInput): FolderStore {
  const { directory } = input
  const isFolder = directory === undefined || statSync(directory, { throwIfNoEntry: false })?.isDirectory()
  if (isFolder === undefined) throw new Error(`the folder ${directory} does not exist`)
  if (!isFolder) throw new Error(`${directory} is not a folder`)
  return new ManifestStore(input)
}

class ManifestStore extends CachedStore implements FolderStore {
  readonly #input: FolderStoreInput
  readonly #files: FolderFiles
  readonly #objects: FolderObjects
  /** The cached fields of each object; undefined for one that cannot be cached. */
  readonly #kept = new WeakMap<K8sObject, K8sObject | undefined>()
  #complaints = new Set<string>()
  #scan: Promise<void> = Promise.resolve()
  #unwatch: (() => void) | undefined
  #stopped = false

  constructor(input: FolderStoreInput) {
    super(input.kinds, completeObserver(input.observer))
    this.#input = input
    this.#files = new FolderFiles(input.directory, this.observer, input.validate)
    this.#objects = new FolderObjects(new Map([...this.kindCaches].map(([key, kind]) => [key, kind.type])))
  }

  async start(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (this.#stopped) throw new Error('the store was stopped')
    // The watch begins before the first read: a file that changes in between is read twice instead of never.
    const { directory, watch = true } = this.#input
    if (watch && directory !== undefined) this.#unwatch ??= this.#watch(directory)
    await this.rescan()
    signal.throwIfAborted()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#unwatch?.()
    await this.#scan
  }

  rescan(): Promise<void> {
    // Scans run one after another, because a scan that is running may miss a write of the caller.
    this.#scan = this.#scan.then(() => this.#refresh())
    return this.#scan
  }

  objects(): readonly FolderObject[] {
    return [...this.#objects.values()]
  }

  async create<T extends K8sObject>(type: ResourceType<T>, object: T, options: CreateOptions = {}): Promise<T> {
    options.beforeWrite?.()
    if (options.isDryRun) return this.#objects.tryCreate(typed(type, object)) as T
    return this.#written(type, this.#objects.create(typed(type, object))) as T
  }

  async update<T extends K8sObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<T> {
    options.beforeWrite?.()
    return this.#written(type, this.#objects.update(typed(type, object))) as T
  }

  async patch<T extends K8sObject>(
    type: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    options: PatchOptions = {},
  ): Promise<T> {
    options.beforeWrite?.()
    return this.#written(type, this.#objects.patch(type, reference, patch, options)) as T
  }

  async delete<T extends K8sObject>(type: ResourceType<T>, object: T, options: WriteOptions = {}): Promise<void> {
    options.beforeWrite?.()
    const deleted = this.#objects.delete(typed(type, object), Date.now())
    if (deleted !== undefined) this.#written(type, deleted)
  }

  async read<T extends K8sObject>(
    type: ResourceType<T>,
    namespace: string | undefined,
    name: string,
  ): Promise<T | undefined> {
    return structuredClone(this.#objects.get(type, namespace, name)) as T | undefined
  }

  #watch(directory: string): () => void {
    const { clock = systemClock, debounceMs = 100 } = this.#input
    return watchFolder({
      directory,
      clock,
      debounceMs,
      pollMs: POLL_MS,
      changed: () => void this.rescan(),
      failed: (error) => this.observer.fileError({ file: directory, message: `cannot be watched: ${error.message}` }),
    })
  }

  async #refresh(): Promise<void> {
    const manifests = await this.#files.refresh()
    if (this.#stopped) return
    const complaints = new Set<string>()
    const complain = ({ file, line, column }: Manifest, message: string): void => {
      const complaint = `${file}:${line}: ${message}`
      complaints.add(complaint)
      if (!this.#complaints.has(complaint)) this.observer.fileError({ file, line, column, message })
    }
    const servable = manifests.filter((manifest) => this.#hasServedVersion(manifest, complain))
    this.#objects.replaceManifests(servable, (first, second) => {
      complain(second, `${objectTitle(second.object)} is already in ${first.file}:${first.line}, which is used`)
    })
    this.#complaints = complaints
    this.#fillCaches()
  }

  /** Whether the manifest has the version of its kind that the store serves. Another version would be decoded incorrectly. */
  #hasServedVersion(manifest: Manifest, complain: (manifest: Manifest, message: string) => void): boolean {
    const { apiVersion, kind } = manifest.object
    const kindCache = this.kindCaches.get(kindKey({ group: groupOf(apiVersion), kind }))
    if (kindCache === undefined || apiVersion === apiVersionOf(kindCache.type)) return true
    complain(
      manifest,
      `${objectTitle(manifest.object)}: apiVersion ${apiVersion}: expected ${apiVersionOf(kindCache.type)}`,
    )
    return false
  }

  #fillCaches(): void {
    const staged = new Map([...this.kindCaches.values()].map((kind) => [kind, kind.cache.stage()]))
    for (const { object } of this.#objects.values()) {
      const kind = this.kindCaches.get(kindKey({ group: groupOf(object.apiVersion), kind: object.kind }))
      if (kind) this.#keep(kind, object, (kept) => staged.get(kind)?.add(kept))
    }
    for (const kind of staged.keys()) for (const change of kind.cache.commit()) this.publish(kind.type, change)
  }

  /**
   * Passes on the cached fields of an object. An object that cannot be cached is reported once and skipped, so that the others stay available.
   * Returns whether it was cached.
   */
  #keep(kind: KindCache, object: K8sObject, put: (kept: K8sObject) => void): boolean {
    let kept = this.#kept.get(object)
    if (kept === undefined && this.#kept.has(object)) return false
    try {
      // Copies the object, because a later write is compared with the raw object, which the cached object must not share.
      kept ??= kind.keep(structuredClone(object))
      put(kept)
    } catch (error) {
      kept = undefined
      this.observer.error({ kind: kind.type.kind, message: `${objectTitle(object)} cannot be cached`, error })
    }
    this.#kept.set(object, kept)
    return kept !== undefined
  }

  #written(type: ResourceType, object: K8sObject): K8sObject {
    const kind = this.kindCaches.get(kindKey(type))
    const { namespace, name = '' } = object.metadata
    const isThere = this.#objects.get(type, namespace, name) === object
    if (kind?.cache.synced) {
      let change: ObjectChange<K8sObject> | undefined
      const isKept =
        isThere &&
        this.#keep(kind, object, (kept) => {
          change = kind.cache.put(kept)
        })
      if (!isKept) change = kind.cache.remove(namespace, name)
      if (change !== undefined) this.publish(type, change)
    }
    return structuredClone(object)
  }
}

function typed(type: ResourceType, object: K8sObject): K8sObject {
  return { ...object, apiVersion: apiVersionOf(type), kind: type.kind }
}
