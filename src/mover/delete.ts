/** Deletes a dataset from a node: renames it first, so that it disappears from its path at once, and then deletes its files. */
import { lstat, rename, rm, rmdir, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { formatBytes } from '../base/quantity.ts'
import type { Done } from './download/download.ts'
import { exists, locate } from './download/staging.ts'
import { joinBytes, openBytes } from './file-names.ts'
import { takeOver } from './owner.ts'
import type { Progress } from './progress.ts'

export interface DeleteInput {
  root: string
  target: string
}

/** Deletes the dataset. It succeeds when there is no data. After an interruption, the next attempt continues. */
export async function deleteDataset(input: DeleteInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const { target, state } = await locate(input.root, input.target)
  // A mover that still writes the data stops.
  if (await exists(state)) await takeOver({ state }, signal).then((owner) => owner.release())
  const deletingPath = join(dirname(target), `.${basename(target)}.deleting`)
  // The files of an interrupted deletion would block the rename.
  const removed = await removeTree(deletingPath, progress, signal)
  for (const path of [target, state]) {
    if (!(await exists(path))) continue
    await rename(path, deletingPath)
    const { files, bytes } = await removeTree(deletingPath, progress, signal)
    removed.files += files
    removed.bytes += bytes
  }
  const { files, bytes } = removed
  return { files, bytes, message: files === 0 ? 'no data to delete' : `${files} files, ${formatBytes(bytes)} deleted` }
}

async function removeTree(
  path: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ files: number; bytes: number }> {
  const removed = { files: 0, bytes: 0 }

  async function walk(folder: Buffer): Promise<void> {
    for await (const { entry, name } of openBytes(folder)) {
      signal.throwIfAborted()
      const path = joinBytes(folder, name)
      if (entry.isDirectory()) {
        await walk(path)
        continue
      }
      const { size } = await lstat(path)
      await unlink(path)
      removed.files += 1
      removed.bytes += size
      progress.moved(size)
      progress.fileDone()
    }
    await rmdir(folder)
  }

  if (!(await exists(path))) return removed
  // A dataset is a directory, but anything else at its path is deleted too.
  if ((await lstat(path)).isDirectory()) await walk(Buffer.from(path))
  else await rm(path)
  return removed
}
