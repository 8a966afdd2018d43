/** Replaces published data: the new tree is built beside it and swapped in. Running pods keep the tree that they have mounted. */
import { renameSync } from 'node:fs'
import { link, lstat, opendir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileErrorCode } from '../../base/file-error.ts'
import { makeFolder } from '../../base/make-folder.ts'
import { hashFile } from '../checksum/hashing.ts'
import { removeTree } from '../file-names.ts'
import { requireNoMount } from '../mounts.ts'
import { type Owner, takeOver } from '../owner.ts'
import type { Progress } from '../progress.ts'
import { type ChecksumLog, readChecksums, readRecords } from './checksums.ts'
import { entryId, type Manifest, readEntries } from './manifest.ts'
import {
  type Completion,
  exists,
  flushDirectory,
  flushFileSystem,
  type Place,
  readRecord,
  writeRecord,
} from './staging.ts'

/** The directories of the new tree, below the state of the published data. */
export function replacementPlace({ target, state }: Place): Place {
  const below = join(state, 'replacement')
  return { target, state: below, files: join(below, 'files'), parts: join(below, 'parts') }
}

/**
 * Links the files that are unchanged since the published manifest into the new tree, and copies their checksums. Returns their ids.
 *
 * @param verify compares the files with their recorded checksums, and does not link damaged files
 */
export async function reuseFiles(
  published: Place,
  { manifest, folder, checksums }: { manifest: Manifest; folder: string; checksums: ChecksumLog },
  verify: boolean,
  progress: Progress,
  signal: AbortSignal,
): Promise<Set<string>> {
  const { doneBytes } = progress.counts()
  const damaged = verify ? await damagedFiles(published, progress, signal) : new Set<string>()
  // So far, bytes were only read. The files that stay are counted when they are linked, and the others when they are downloaded.
  progress.adjust(doneBytes - progress.counts().doneBytes)
  const known = new Set<string>()
  for await (const entry of readEntries(join(published.state, 'manifest'))) known.add(entryId(entry))
  const reused = new Set<string>()
  const folders = new Set<string>()
  for await (const entry of manifest.entries()) {
    signal.throwIfAborted()
    const id = entryId(entry)
    const file = join(published.target, entry.path)
    if (entry.isFolder || !known.has(id) || damaged.has(id) || (await readableFileSize(file)) !== entry.size) continue
    const linked = join(folder, entry.path)
    if (!folders.has(dirname(linked))) await makeFolder(dirname(linked))
    folders.add(dirname(linked))
    // An earlier attempt may have linked or downloaded another version.
    await rm(linked, { force: true })
    if (!(await tryLink(file, linked))) continue
    reused.add(id)
    progress.countFile(entry.size)
  }
  for await (const recorded of readRecords(published)) if (reused.has(recorded.id)) checksums.copy(recorded)
  return reused
}

/**
 * Errors of a file that can have no link. Some file systems have no links, or have them inside a folder only. Linux also refuses a link to a file
 * of another owner (proc_sys_fs(5), protected_hardlinks).
 */
const UNLINKABLE: ReadonlySet<string | undefined> = new Set(['EPERM', 'EXDEV', 'EMLINK', 'ENOTSUP'])

/** Links a file. Returns false for a file that can have no link, which is downloaded again. */
async function tryLink(file: string, linked: string): Promise<boolean> {
  try {
    await link(file, linked)
    return true
  } catch (error) {
    if (!UNLINKABLE.has((error as NodeJS.ErrnoException).code)) throw error
    return false
  }
}

/** The ids of the files whose content does not match their recorded checksum. */
export async function damagedFiles(published: Place, progress: Progress, signal: AbortSignal): Promise<Set<string>> {
  const damaged = new Set<string>()
  for await (const { id, path, algorithm, value } of readChecksums(published)) {
    const file = join(published.target, path)
    // A pod may have put a FIFO or a link to a device in its place, whose read has no end.
    const isFile = (await readableFileSize(file)) !== undefined
    const read = () => hashFile(file, algorithm, signal, undefined, (bytes) => progress.adjust(bytes))
    if (!isFile || (await read().catch(unreadable)) !== value) damaged.add(id)
  }
  return damaged
}

/** Errors of a file that is missing or that the disk cannot read. Any other error says nothing about the data. */
const LOSSES: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'EIO', 'EUCLEAN', 'EBADMSG'])

/** Returns undefined for a file that is lost, and throws any other error. */
function unreadable(error: NodeJS.ErrnoException): undefined {
  if (!LOSSES.has(fileErrorCode(error))) throw error
}

/** The size of a file; undefined when there is no regular file, or when the disk cannot read it. */
export async function readableFileSize(path: string): Promise<number | undefined> {
  const stats = await lstat(path).catch(unreadable)
  return stats?.isFile() ? stats.size : undefined
}

/** Publishes a complete replacement. */
export async function publishReplacement(
  published: Place,
  completion: Completion,
  owner: Pick<Owner, 'publish'>,
): Promise<void> {
  const { state } = replacementPlace(published)
  // The record allows the swap, also after a power loss, so the data must be on the disk before it.
  await flushFileSystem(state)
  await owner.publish(async () => {
    await writeRecord({ state }, completion)
    await finishReplacement(published)
  })
}

/** Completes the swap of a replacement, also of a mover that was killed in it. It does nothing without a complete replacement. */
export async function finishReplacement(published: Place): Promise<void> {
  const { state, files } = replacementPlace(published)
  if (!(await readRecord({ state }))) return
  if (await exists(files)) await swapIn(published, files)
  for (const name of ['manifest', 'checksums', 'complete.json']) {
    const path = join(state, name)
    if (await exists(path)) await rename(path, join(published.state, name))
  }
  // The record of uploads is about the files of the old tree.
  await rm(join(published.state, 'uploads'), { force: true })
  await rm(state, { recursive: true, force: true })
  await flushDirectory(published.state)
  await flushDirectory(dirname(published.target))
}

/**
 * Completes the swap of a replacement whose mover was killed in it, for a mover that does not own the data. Until then, the directory may be
 * missing, or have other files than its manifest.
 */
export async function completeReplacement(published: Place, signal: AbortSignal): Promise<void> {
  if (!(await readRecord(replacementPlace(published)))) return
  const owner = await takeOver(published, signal)
  await owner.publish(() => finishReplacement(published)).finally(() => owner.release())
}

const folderOfOld = ({ state }: Place) => join(state, 'old')

/**
 * Moves the published tree aside, and the new one to its place. Node cannot exchange two directories, so there are two renames in a row.
 * The name of the old tree is the time, so that a later mover knows which pods may use it.
 */
async function swapIn(published: Place, files: string): Promise<void> {
  const folder = folderOfOld(published)
  await makeFolder(folder)
  const name = Math.max(Date.now(), ...(await timesOfOld(published)).map((time) => time + 1))
  if (await exists(published.target)) renameSync(published.target, join(folder, String(name)))
  renameSync(files, published.target)
}

/** Deletes the trees that were replaced before a time. Returns how many are left. */
export async function deleteOldTrees(published: Place, before: number): Promise<number> {
  const times = await timesOfOld(published)
  const deleted = times.filter((time) => time < before)
  for (const time of deleted) {
    const tree = join(folderOfOld(published), String(time))
    await requireNoMount(tree)
    await removeTree(Buffer.from(tree))
  }
  return times.length - deleted.length
}

async function timesOfOld(published: Place): Promise<number[]> {
  const folder = folderOfOld(published)
  if (!(await exists(folder))) return []
  const times: number[] = []
  for await (const { name } of await opendir(folder)) if (/^\d{1,15}$/.test(name)) times.push(Number(name))
  return times
}
