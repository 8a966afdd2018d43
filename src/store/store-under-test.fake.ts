/** Opens a store before each test of a suite, and stops and closes it after the test. */
import { afterEach, beforeEach } from 'vitest'
import { type ResourceBinding, resourceBindings } from '../api/karmada.ts'
import type { K8sObject, ResourceType } from '../api/meta.ts'
import type { StoreObserver } from './observer.ts'
import type { ObjectStore } from './store.ts'

/** A store under test, and another client that writes to its source. */
export interface StoreUnderTest {
  store: ObjectStore
  put(type: ResourceType, object: K8sObject): Promise<void>
  remove(type: ResourceType, namespace: string | undefined, name: string): Promise<void>
  close(): Promise<void>
}

/** Opens a store that caches the kinds of objects.fake.ts, without starting it. */
export type OpenStore = (observer: Partial<StoreObserver>) => Promise<StoreUnderTest>

/** Call it in a `describe`. The returned object always refers to the store of the running test. */
export function useStore(open: OpenStore) {
  const errors: string[] = []
  let opened: StoreUnderTest
  beforeEach(async () => {
    errors.length = 0
    opened = await open({ error: ({ message }) => errors.push(message) })
  })
  afterEach(async () => {
    await opened.store.stop()
    await opened.close()
  })
  return {
    get store(): ObjectStore {
      return opened.store
    },
    put: (type: ResourceType, object: K8sObject) => opened.put(type, object),
    remove: (type: ResourceType, namespace: string | undefined, name: string) => opened.remove(type, namespace, name),
    /** The errors that the store has reported. */
    errors,
    started: (): Promise<void> => opened.store.start(new AbortController().signal),
    /** The cached binding of this name. */
    shown: (name: string): ResourceBinding | undefined => opened.store.get(resourceBindings, 'shop', name),
  }
}
