/** Removes files of earlier attempts that do not belong to the dataset any more: the published files are always those of the listing. */
import { isUtf8 } from 'node:buffer'
import { lstat, rename, rm, rmdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseJson } from '../../base/json.ts'
import { joinBytes, openBytes, removeTree } from '../file-names.ts'
import { readLines } from './line-log.ts'
import { type Entry, type Manifest, shortHash } from './manifest.ts'
import { exists } from './staging.ts'

/** Removes every file and folder of a staging directory that the manifest does not have, or has as the other type. */
export async function pruneStaging(folder: string, manifest: Manifest, signal: AbortSignal): Promise<void> {
  const { files, folders } = await manifestPaths(manifest)

  async function walk(below: string): Promise<void> {
    const at = Buffer.from(join(folder, below))
    for await (const { entry, name } of openBytes(at)) {
      signal.throwIfAborted()
      const path = below === '' ? name.toString() : `${below}/${name}`
      const isKept = isUtf8(name) && (entry.isDirectory() ? folders : files).has(shortHash(path))
      if (!isKept) await removeTree(joinBytes(at, name))
      else if (entry.isDirectory()) await walk(path)
    }
  }

  await walk('')
}

/** The file to which the manifest of an earlier attempt is moved, until its files are pruned. */
const earlierManifest = (manifestPath: string) => `${manifestPath}.earlier`

/** Keeps the manifest of an earlier attempt, before a new one is written. An attempt that was killed between the two wrote no files. */
export async function keepEarlier(manifestPath: string): Promise<void> {
  const earlier = earlierManifest(manifestPath)
  if (!(await exists(earlier)) && (await exists(manifestPath))) await rename(manifestPath, earlier)
}

/**
 * Removes the files of an earlier attempt from a directory that pods use. Only files of the earlier manifest, and folders that are
 * empty then, are removed: every other file belongs to a pod.
 */
export async function pruneInPlace(
  folder: string,
  manifestPath: string,
  manifest: Manifest,
  signal: AbortSignal,
): Promise<void> {
  const earlier = earlierManifest(manifestPath)
  if (!(await exists(earlier))) return
  const { files } = await manifestPaths(manifest)
  for await (const line of readLines(earlier)) {
    signal.throwIfAborted()
    // The last line of a mover that was killed, or whose disk was full, may be incomplete. That mover wrote no files.
    const entry = parseJson(line) as Entry | undefined
    if (entry === undefined || entry.isFolder || files.has(shortHash(entry.path))) continue
    const { path } = entry
    if (!(await isBelow(folder, dirname(path)))) continue
    await rm(join(folder, path), { force: true })
    await removeEmpty(folder, dirname(path))
  }
  await rm(earlier)
}

async function manifestPaths(manifest: Manifest): Promise<{ files: Set<string>; folders: Set<string> }> {
  const [files, folders] = [new Set<string>(), new Set<string>()]
  for await (const { path, isFolder } of manifest.entries()) {
    ;(isFolder ? folders : files).add(shortHash(path))
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1))
      folders.add(shortHash(path.slice(0, at)))
  }
  return { files, folders }
}

/** Whether every part of the path is a directory. A pod may have put a symbolic link in its place, which is never followed. */
async function isBelow(folder: string, path: string): Promise<boolean> {
  for (let at = path; at !== '.'; at = dirname(at)) {
    const stats = await lstat(join(folder, at)).catch(() => undefined)
    if (!stats?.isDirectory()) return false
  }
  return true
}

/** Removes the folder and its parents while they are empty. */
async function removeEmpty(folder: string, path: string): Promise<void> {
  for (let at = path; at !== '.'; at = dirname(at)) {
    try {
      await rmdir(join(folder, at))
    } catch {
      // It has other files.
      return
    }
  }
}
