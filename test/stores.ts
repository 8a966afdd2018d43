/** Stores in memory for tests: real ones, filled, and ended with the test that opened them. */
import { onTestFinished } from 'vitest'
import { groupOf, type K8sObject, type ResourceType } from '../src/api/meta.ts'
import { type FolderStore, openFolderStore } from '../src/store/folder/folder.ts'
import { type AnyCachedKind, kindKey } from '../src/store/kinds/any-kind.ts'
import { cachedKinds } from '../src/store/kinds/cached-kinds.ts'

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

/** A kind as it is cached, whatever its version. Throws for one that is not. */
export function typeOf(apiVersion: string, kind: string): ResourceType {
  const key = kindKey({ group: groupOf(apiVersion), kind })
  const found = cachedKinds.find(({ type }) => kindKey(type) === key)
  if (!found) throw new Error(`${key} is not cached`)
  return found.type
}
