/** A view of a store that asks before each write, so that a replica that is no longer the leader writes nothing. */
import type { ObjectStore } from './store.ts'

/**
 * Returns a store with the same objects. `beforeWrite` is called right before each write is sent, also after a wait for the write limit. If
 * it throws, nothing is written, and the write rejects with that error.
 */
export function guardWrites(store: ObjectStore, beforeWrite: () => void): ObjectStore {
  return {
    get: (type, namespace, name) => store.get(type, namespace, name),
    list: (type) => store.list(type),
    byIndex: (type, index, key) => store.byIndex(type, index, key),
    typesWithIndex: (index) => store.typesWithIndex(index),
    size: (type) => store.size(type),
    kinds: () => store.kinds(),
    serves: (type) => store.serves(type),
    synced: () => store.synced(),
    unsynced: () => store.unsynced(),
    unavailable: () => store.unavailable(),
    subscribeAvailability: (listener) => store.subscribeAvailability(listener),
    subscribe: (listener) => store.subscribe(listener),
    create: (type, object, options) => store.create(type, object, { ...options, beforeWrite }),
    update: (type, object, options) => store.update(type, object, { ...options, beforeWrite }),
    patch: (type, reference, patch, options) => store.patch(type, reference, patch, { ...options, beforeWrite }),
    delete: (type, object, options) => store.delete(type, object, { ...options, beforeWrite }),
    read: (type, namespace, name) => store.read(type, namespace, name),
    start: (signal) => store.start(signal),
    stop: () => store.stop(),
  }
}
