/** Stores in memory for tests: real ones, filled, and ended with the test that opened them. */
import { onTestFinished } from 'vitest'
import { groupOf, type K8sObject, type ObjectMeta, type ResourceType } from '../src/api/meta.ts'
import { type AnyCachedKind, kindKey } from '../src/store/any-kind.ts'
import { type FolderStore, openFolderStore } from '../src/store/folder/folder.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'
import type { ObjectStore, StoreChange } from '../src/store/store.ts'

/** A store that has been read and holds these objects. */
export async function storeOf(
  objects: readonly K8sObject[] = [],
  kinds: readonly AnyCachedKind[] = cachedKinds,
): Promise<FolderStore> {
  const store = openFolderStore({ kinds })
  onTestFinished(() => store.stop())
  await store.start(new AbortController().signal)
  for (const object of objects) await store.create(typeOf(object.apiVersion, object.kind), object)
  return store
}

/** Creates, replaces or deletes an object, and returns the change that the store publishes. */
export async function makeChange(
  store: ObjectStore,
  { before, after }: { before?: K8sObject; after?: K8sObject },
): Promise<StoreChange> {
  const object = after ?? before
  if (!object) throw new Error('a change needs an object before or after it')
  const type = typeOf(object.apiVersion, object.kind)
  const stored = before && (await store.create(type, before))
  const published: StoreChange[] = []
  const unsubscribe = store.subscribe((change) => published.push(change))
  if (stored && after) {
    const { resourceVersion } = stored.metadata
    await store.update(type, { ...after, metadata: { ...after.metadata, resourceVersion } as ObjectMeta })
  } else if (stored) await store.delete(type, stored)
  else await store.create(type, object)
  unsubscribe()
  const [change] = published
  if (!change) throw new Error(`${object.kind} ${object.metadata.name} did not change`)
  return change
}

/** A kind as it is cached, whatever its version. Throws for one that is not. */
export function typeOf(apiVersion: string, kind: string): ResourceType {
  const key = kindKey({ group: groupOf(apiVersion), kind })
  const found = cachedKinds.find(({ type }) => kindKey(type) === key)
  if (!found) throw new Error(`${key} is not cached`)
  return found.type
}
