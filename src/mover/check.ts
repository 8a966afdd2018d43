/** Checks that downloaded data is still on its node. It changes only replaced trees, and completes a replacement that was interrupted. */
import { join } from 'node:path'
import { formatBytes } from '../base/quantity.ts'
import type { Done } from './download/download.ts'
import { entryId, readEntries } from './download/manifest.ts'
import { completeReplacement, damagedFiles, deleteOldTrees, readableFileSize } from './download/replace.ts'
import { type Completion, exists, isEmptyDirectory, locate, type Place, readRecord } from './download/staging.ts'
import { MoverError } from './mover-error.ts'
import type { Progress } from './progress.ts'

export interface CheckInput {
  root: string
  target: string
  /**
   * `record`: only the record of the download and the directory, since pods may have changed the files. `files`: also the number and the
   * sizes of the files. `checksums`: also their content, where the server had a checksum.
   */
  contents: 'record' | 'files' | 'checksums'
  /** Trees that were replaced before this time are deleted, in ms since the epoch. */
  deleteOldBefore: number
}

/** The most files in an error message. */
const MAX_NAMED = 3

/** Checks the dataset. Throws `DataMissing` or `DataDamaged` when data is lost. Any other error says nothing about the data. */
export async function checkDataset(input: CheckInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const place = await locate(input.root, input.target)
  await completeReplacement(place, signal)
  const record = await checkRecord(place, input)
  progress.begin(record.bytes, record.files)
  if (input.contents !== 'record') await checkSizes(place, record, progress, signal)
  if (input.contents === 'checksums') await checkContents(place, progress, signal)
  const { bytes, files, digest } = record
  const oldTrees = await deleteOldTrees(place, input.deleteOldBefore)
  const message = `${CHECKED[input.contents]}, ${files} files, ${formatBytes(bytes)}`
  return { bytes, files, digest, oldTrees, message }
}

const CHECKED = { record: 'the record is there', files: 'all files are there', checksums: 'all checksums match' }

async function checkRecord(place: Place, { target, contents }: CheckInput): Promise<Completion> {
  const record = await readRecord(place)
  const isThere = await exists(place.target)
  if (record && !isThere) {
    throw new MoverError('DataMissing', `${target} was deleted, although the record of its download is there`)
  }
  if (record) return record
  if (!isThere || (await isEmptyDirectory(place.target))) {
    throw new MoverError(
      'DataMissing',
      'the directory has neither data nor the record of a download: the disk was replaced, or all of it was deleted',
    )
  }
  const message = `${target} has files, but no record of a download`
  throw new MoverError(contents === 'record' ? 'TargetExists' : 'DataDamaged', message)
}

async function checkSizes(
  { target, state }: Place,
  record: Completion,
  progress: Progress,
  signal: AbortSignal,
): Promise<void> {
  const lost: string[] = []
  let [listed, missing] = [0, 0]
  for await (const { path, size, isFolder } of manifestEntries(state)) {
    signal.throwIfAborted()
    if (isFolder) continue
    listed += 1
    progress.fileDone()
    if ((await readableFileSize(join(target, path))) === size) continue
    missing += 1
    if (lost.length < MAX_NAMED) lost.push(path)
  }
  if (missing > 0) {
    throw new MoverError(
      'DataDamaged',
      `${missing} of ${record.files} files are missing or have another size: ${named(lost, missing)}`,
    )
  }
  if (listed !== record.files) {
    throw new MoverError('DataDamaged', `the list of files has ${listed} files, and ${record.files} were downloaded`)
  }
}

async function checkContents(place: Place, progress: Progress, signal: AbortSignal): Promise<void> {
  const damaged = await damagedFiles(place, progress, signal)
  if (damaged.size === 0) return
  const lost: string[] = []
  let count = 0
  for await (const entry of manifestEntries(place.state)) {
    // A recorded checksum may be of an earlier version of the object.
    if (!damaged.has(entryId(entry))) continue
    count += 1
    if (lost.length < MAX_NAMED) lost.push(entry.path)
  }
  if (count > 0)
    throw new MoverError('DataDamaged', `${count} files do not match their checksums: ${named(lost, count)}`)
}

/** The entries of the manifest; none when it is missing. Throws `DataDamaged` when it is not readable as a manifest. */
async function* manifestEntries(state: string): ReturnType<typeof readEntries> {
  try {
    yield* readEntries(join(state, 'manifest'))
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new MoverError('DataDamaged', 'the list of files is damaged', { cause: error })
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function named(paths: readonly string[], count: number): string {
  return paths.join(', ') + (count > paths.length ? `, and ${count - paths.length} more` : '')
}
