/** A view of a store that asks before each write, so that a replica that is no longer the leader writes nothing. */
import type { K8sObject, ResourceType } from '../api/meta.ts'
import type {
  AvailabilityListener,
  CreateOptions,
  ObjectName,
  ObjectStore,
  PatchOptions,
  StoreChange,
} from './store.ts'

/**
 * Returns a store with the same objects. `beforeWrite` is called right before each write is sent, also after a wait for the write limit. If
 * it throws, nothing is written, and the write rejects with that error.
 */
export function guardWrites(store: ObjectStore, beforeWrite: () => void): ObjectStore {
  return new GuardedStore(store, beforeWrite)
}

class GuardedStore implements ObjectStore {
  readonly #store: ObjectStore
  readonly #beforeWrite: () => void

  constructor(store: ObjectStore, beforeWrite: () => void) {
    this.#store = store
    this.#beforeWrite = beforeWrite
  }

  get<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string) {
    return this.#store.get(type, namespace, name)
  }

  list<T extends K8sObject>(type: ResourceType<T>) {
    return this.#store.list(type)
  }

  byIndex<T extends K8sObject>(type: ResourceType<T>, index: string, key: string) {
    return this.#store.byIndex(type, index, key)
  }

  typesWithIndex(index: string) {
    return this.#store.typesWithIndex(index)
  }

  size(type: ResourceType) {
    return this.#store.size(type)
  }

  kinds() {
    return this.#store.kinds()
  }

  serves(type: ResourceType) {
    return this.#store.serves(type)
  }

  synced() {
    return this.#store.synced()
  }

  unsynced() {
    return this.#store.unsynced()
  }

  unavailable() {
    return this.#store.unavailable()
  }

  subscribeAvailability(listener: AvailabilityListener) {
    return this.#store.subscribeAvailability(listener)
  }

  subscribe(listener: (change: StoreChange) => void) {
    return this.#store.subscribe(listener)
  }

  create<T extends K8sObject>(type: ResourceType<T>, object: T, options?: CreateOptions) {
    return this.#store.create(type, object, { ...options, beforeWrite: this.#beforeWrite })
  }

  update<T extends K8sObject>(type: ResourceType<T>, object: T) {
    return this.#store.update(type, object, { beforeWrite: this.#beforeWrite })
  }

  patch<T extends K8sObject>(
    type: ResourceType<T>,
    reference: ObjectName,
    patch: Record<string, unknown>,
    options?: PatchOptions,
  ) {
    return this.#store.patch(type, reference, patch, { ...options, beforeWrite: this.#beforeWrite })
  }

  delete<T extends K8sObject>(type: ResourceType<T>, object: T) {
    return this.#store.delete(type, object, { beforeWrite: this.#beforeWrite })
  }

  read<T extends K8sObject>(type: ResourceType<T>, namespace: string | undefined, name: string) {
    return this.#store.read(type, namespace, name)
  }

  start(signal: AbortSignal) {
    return this.#store.start(signal)
  }

  stop() {
    return this.#store.stop()
  }
}
