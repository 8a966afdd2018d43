/** Deletes a dataset from a node: renames it first, so that it disappears from its path at once, and then deletes its files. */
import { rename } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { formatBytes } from '../base/quantity.ts'
import type { Done } from './download/download.ts'
import { exists, locate } from './download/staging.ts'
import { removeTree } from './file-names.ts'
import { requireNoMount } from './mounts.ts'
import { stopOthers } from './owner.ts'
import type { Progress } from './progress.ts'

export interface DeleteInput {
  root: string
  target: string
}

/** Deletes the dataset. It succeeds when there is no data. After an interruption, the next attempt continues. */
export async function deleteDataset(input: DeleteInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const { target, state } = await locate(input.root, input.target)
  // A mover that still writes the data stops.
  if (await exists(state)) await stopOthers({ state }, signal)
  const deletingPath = join(dirname(target), `.${basename(target)}.deleting`)
  for (const path of [deletingPath, target, state]) await requireNoMount(path)
  // The files of an interrupted deletion would block the rename.
  const removed = await removeAll(deletingPath, progress, signal)
  for (const path of [target, state]) {
    if (!(await exists(path))) continue
    await rename(path, deletingPath)
    const { files, bytes } = await removeAll(deletingPath, progress, signal)
    removed.files += files
    removed.bytes += bytes
  }
  const { files, bytes } = removed
  return { files, bytes, message: files === 0 ? 'no data to delete' : `${files} files, ${formatBytes(bytes)} deleted` }
}

/** A dataset is a directory, but anything else at its path is deleted too. */
async function removeAll(
  path: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<{ files: number; bytes: number }> {
  const removed = { files: 0, bytes: 0 }
  if (!(await exists(path))) return removed
  await removeTree(
    Buffer.from(path),
    (bytes) => {
      removed.files += 1
      removed.bytes += bytes
      progress.moved(bytes)
      progress.fileDone()
    },
    signal,
  )
  return removed
}
