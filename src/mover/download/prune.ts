/** Removes files from a staging directory that do not belong to the dataset any more. An earlier attempt may have had another listing. */
import { opendir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Manifest, shortHash } from './manifest.ts'

/** Removes every file and folder that the manifest does not have, or has as the other type. */
export async function prune(folder: string, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const [files, folders] = [new Set<string>(), new Set<string>()]
  for await (const { path, isFolder } of manifest.entries()) {
    ;(isFolder ? folders : files).add(shortHash(path))
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      folders.add(shortHash(path.slice(0, at)))
  }

  async function walk(below: string): Promise<void> {
    for await (const entry of await opendir(join(folder, below))) {
      signal.throwIfAborted()
      const path = below === '' ? entry.name : `${below}/${entry.name}`
      const isKept = (entry.isDirectory() ? folders : files).has(shortHash(path))
      if (!isKept) await rm(join(folder, path), { recursive: true, force: true })
      else if (entry.isDirectory()) await walk(path)
    }
  }

  await walk('')
}
