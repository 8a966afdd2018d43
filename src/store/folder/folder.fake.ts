/** A temporary folder of manifests for a test, with a folder store. */
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { onTestFinished } from 'vitest'
import { temporaryFolder } from '../../../test/temporary-folder.ts'
import { resourceBindings } from '../../api/karmada.ts'
import type { K8sObject } from '../../api/meta.ts'
import { bindingKind, clusterKind, secretKind } from '../objects.fake.ts'
import { type FolderStore, type FolderStoreInput, openFolderStore } from './folder.ts'

export interface TestFolder {
  directory: string
  /** The file errors that the observer received, as `file:line message`. */
  complaints: string[]
  write(file: string, ...documents: (K8sObject | string)[]): Promise<void>
  /** Opens a store that does not watch; it is stopped after the test. */
  open(input?: Partial<FolderStoreInput>): FolderStore
  /** Opens and starts a store. */
  start(input?: Partial<FolderStoreInput>): Promise<FolderStore>
}

/** Creates an empty folder, which is deleted after the test. */
export async function openFolder(): Promise<TestFolder> {
  const directory = temporaryFolder()
  const complaints: string[] = []
  const open = (input: Partial<FolderStoreInput> = {}): FolderStore => {
    const fileError = ({ file, line, message }: { file: string; line?: number; message: string }): void => {
      complaints.push(`${file.slice(directory.length + 1)}:${line ?? ''} ${message}`)
    }
    const kinds = [bindingKind, clusterKind, secretKind]
    const store = openFolderStore({ directory, kinds, observer: { fileError }, watch: false, ...input })
    onTestFinished(() => store.stop())
    return store
  }
  return {
    directory,
    complaints,
    open,
    async write(file, ...documents) {
      const path = join(directory, file)
      await mkdir(dirname(path), { recursive: true })
      const texts = documents.map((document) => (typeof document === 'string' ? document : JSON.stringify(document)))
      await writeFile(path, texts.join('\n---\n'))
    },
    async start(input) {
      const store = open(input)
      await store.start(new AbortController().signal)
      return store
    },
  }
}

/** The names of the bindings in a store, sorted. */
export function names(store: FolderStore): string[] {
  return [...store.list(resourceBindings)].map((object) => object.metadata.name ?? '').sort()
}

export function replicas(store: FolderStore, name: string): number | undefined {
  return store.get(resourceBindings, 'shop', name)?.spec.replicas
}
