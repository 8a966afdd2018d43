/** Snapshots of generated hubs in a temporary folder, for tests. */
import { join } from 'node:path'
import type { K8sObject } from '../../src/api/meta.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { type FolderStore, openFolderStore } from '../../src/store/folder/folder.ts'
import { type OpenSnapshot, openSnapshotStore } from '../../src/store/snapshot/read-snapshot.ts'
import { snapshotKinds } from '../../src/store/snapshot/snapshot-kinds.ts'
import { type SnapshotContent, writeSnapshotFile } from '../../src/store/snapshot/write-snapshot.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import type { Fleet } from './fleet.ts'
import { SETTINGS } from './fleet-store.ts'

export const NEVER = new AbortController().signal

/** Returns a path in a folder that is removed after the test. */
export function temporaryFile(name = 'fleet.lsnap'): string {
  const folder = temporaryFolder()
  return join(folder, name)
}

/** Writes a snapshot and opens it. */
export async function written(content: Omit<SnapshotContent, 'settings'>): Promise<OpenSnapshot & { file: string }> {
  const file = temporaryFile()
  await writeSnapshotFile({ settings: SETTINGS, ...content }, file, NEVER)
  return { file, ...(await openSnapshotStore({ file, signal: NEVER })) }
}

/** The store of a folder, or of the objects of a fleet, with the kinds of a snapshot. */
export async function storeOf(from: string | Fleet): Promise<FolderStore> {
  const directory = typeof from === 'string' ? { directory: from } : {}
  const store = openFolderStore({ ...directory, kinds: snapshotKinds(SHIPPED_KINDS), watch: false })
  await store.start(NEVER)
  if (typeof from === 'string') return store
  for (const { type, object } of from.objects()) {
    const { resourceVersion: _none, ...metadata } = object.metadata
    await store.create(type, { ...object, metadata } as K8sObject)
  }
  return store
}
