/** Downloads a dataset to a directory. The directory appears only when it is complete, unless the download is in place. */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { defined } from '../../base/json.ts'
import { formatBytes } from '../../base/quantity.ts'
import { MoverError } from '../mover-error.ts'
import { UnvalidatedRangeError } from '../objects/fetch-range.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import type { Selection } from '../objects/select.ts'
import { type Owner, takeOver } from '../owner.ts'
import { runPool } from '../pool.ts'
import type { Progress } from '../progress.ts'
import { openChecksums } from './checksums.ts'
import { type Journal, journalHeader, openJournal } from './journal.ts'
import { entryId, type Manifest, writeManifest } from './manifest.ts'
import { ObjectFiles, type ObjectFilesInput } from './object-files.ts'
import { keepEarlier, pruneInPlace, pruneStaging } from './prune.ts'
import { deleteOldTrees, finishReplacement, publishReplacement, replacementPlace, reuseFiles } from './replace.ts'
import { requireSpace } from './space.ts'
import {
  type Completion,
  exists,
  isEmptyDirectory,
  locate,
  type Place,
  prepare,
  publish,
  readCompletion,
  requireSizes,
} from './staging.ts'

export interface DownloadInput {
  /** Opens the bucket or container. It is called only when there is data to download. */
  openStore: (signal: AbortSignal) => Promise<ObjectStore>
  endpoint: string
  selection: Selection
  root: string
  target: string
  partSize: number
  parallel: number
  keepFree: number
  verify: 'checksum' | 'size'
  /** Whether pods use the data during the download: each file appears when it is complete. */
  inPlace: boolean
  /**
   * What happens to complete data of the same origin. `trust`: nothing. `compare`: it is replaced if the source changed. `verify`: also files
   * that do not match their size or recorded checksum are downloaded again.
   */
  existing: 'trust' | 'compare' | 'verify'
  /** Trees that were replaced before this time are deleted, in ms since the epoch. */
  deleteOldBefore: number
}

/** The result of a verb. */
export interface Done {
  bytes: number
  files: number
  digest?: string
  /** The number of replaced trees that are kept, since pods may still use them. */
  oldTrees?: number
  /** Whether complete data was replaced. */
  replaced?: true
  message: string
}

/**
 * Rounds of a download whose source changes. A source that changes more often is still being written, and a later attempt has better
 * chances.
 */
const MAX_ROUNDS = 3

/** Downloads the dataset. Throws a `MoverError`, or the reason of the signal. Downloaded data stays on the disk for the next attempt. */
export async function download(input: DownloadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const place = await locate(input.root, input.target, input.inPlace)
  // Without a state directory, no mover has worked here. A directory of a user gets none.
  if (!(await exists(place.state)) && !(await isUnused(place))) throw takenError(input)
  const owner = await takeOver(place, signal)
  try {
    const done = await downloadTo(place, input, progress, owner)
    const oldTrees = await deleteOldTrees(place, 0)
    return oldTrees > 0 ? { ...done, oldTrees } : done
  } finally {
    await owner.release()
  }
}

async function downloadTo(place: Place, input: DownloadInput, progress: Progress, owner: Owner): Promise<Done> {
  const origin = downloadOrigin(input)
  await finishReplacement(place)
  const complete = await readCompletion(place)
  if (complete?.origin === origin) {
    if (input.existing !== 'trust') return replaceChanged(input, place, complete, progress, owner)
    return { ...downloadResult(complete), message: 'the data is complete already' }
  }
  const isFree = complete === undefined && (input.inPlace || (await isUnused(place)))
  if (!isFree) throw takenError(input, complete)
  return inRounds(input, { place, origin, owner }, progress)
}

function takenError({ target }: DownloadInput, complete?: Completion): MoverError {
  const what = complete === undefined ? 'files that no mover wrote' : `data of ${complete.origin}`
  return new MoverError('TargetExists', `${target} has ${what}; delete it first, or use another target`)
}

/** Replaces complete data in which objects changed at the source or, with `verify`, on the disk. */
async function replaceChanged(
  input: DownloadInput,
  published: Place,
  record: Completion,
  progress: Progress,
  owner: Owner,
): Promise<Done> {
  const place = replacementPlace(published)
  const work = { place, origin: record.origin, owner, published: { place: published, record } }
  // Before the download, since it needs the disk.
  await deleteOldTrees(published, input.deleteOldBefore)
  return inRounds({ ...input, inPlace: false }, work, progress)
}

interface Work {
  place: Place
  origin: string
  owner: Owner
  /** The complete data that is replaced. */
  published?: { place: Place; record: Completion }
}

async function inRounds(input: DownloadInput, work: Work, progress: Progress): Promise<Done> {
  await prepare(work.place)
  const store = await input.openStore(work.owner.signal)
  let isWhole = false
  for (let round = 1; ; round++) {
    try {
      return await downloadListed({ ...input, isWhole }, store, work, progress)
    } catch (error) {
      if (error instanceof UnvalidatedRangeError && !isWhole) {
        isWhole = true
        continue
      }
      const mayChange = error instanceof MoverError && error.code === 'SourceChanged'
      if (!mayChange || round === MAX_ROUNDS) throw error
    }
  }
}

async function downloadListed(
  input: DownloadInput & Pick<ObjectFilesInput, 'isWhole'>,
  store: ObjectStore,
  { place, origin, owner, published }: Work,
  progress: Progress,
): Promise<Done> {
  const { signal } = owner
  const manifestPath = join(place.state, 'manifest')
  if (input.inPlace) await keepEarlier(manifestPath)
  const manifest = await writeManifest(manifestPath, store, input.selection, signal, (bytes, files) =>
    progress.begin(bytes, files),
  )
  const isSame = manifest.digest === published?.record.digest
  if (published && isSame && input.existing === 'compare') return unchanged(place, published.record)
  const journal = await openJournal(join(place.state, 'journal'), await journalHeader(input.partSize))
  const checksums = await openChecksums(place, journal.resumed)
  try {
    // In place, the directory may have files of a pod, which the mover must keep.
    if (input.inPlace) await pruneInPlace(place.files, manifestPath, manifest, signal)
    else if (!(await isEmptyDirectory(place.files))) await pruneStaging(place.files, manifest, signal)
    progress.begin(manifest.bytes, manifest.files)
    const fresh = { manifest, folder: place.files, checksums }
    const reused: ReadonlySet<string> = published
      ? await reuseFiles(published.place, fresh, input.existing === 'verify', progress, signal)
      : new Set()
    if (published && isSame && reused.size === manifest.files) return await unchanged(place, published.record)
    const left = await remainingWork(manifest, journal, reused, input.partSize)
    await requireSpace(place.state, left.bytes, left.files, input.keepFree)
    const files = new ObjectFiles({
      ...input,
      store,
      folder: place.files,
      journal,
      progress,
      checksums,
      reused,
      // Files that are linked from the published tree must never be opened for writing.
      ...defined({ parts: input.inPlace || published ? place.parts : undefined }),
    })
    await runPool(
      async function* jobs(ending) {
        for await (const entry of manifest.entries()) yield* files.jobsFor(entry, ending)
      },
      input.parallel,
      signal,
    )
    await files.end()
  } finally {
    await Promise.all([journal.close(), checksums.close()])
  }
  const { files, bytes, digest } = manifest
  const completion = { origin, bytes, files, digest }
  // In place, pods may have changed the files already.
  if (place.files !== place.target) await requireSizes(manifest, place.files)
  if (published) {
    await publishReplacement(published.place, completion, owner)
    return { ...downloadResult(completion, manifest), replaced: true }
  }
  await publish(place, completion, owner)
  return downloadResult(completion, manifest)
}

async function unchanged({ state }: Place, record: Completion): Promise<Done> {
  await rm(state, { recursive: true, force: true })
  return { ...downloadResult(record), message: 'the data is unchanged' }
}

function downloadResult({ bytes, files, digest }: Completion, { leftOut }: Pick<Manifest, 'leftOut'> = {}): Done {
  const left = leftOut === undefined ? '' : `; left out: ${leftOut}`
  return { bytes, files, digest, message: `${files} files, ${formatBytes(bytes)}${left}` }
}

/** Whether the target is unused. An empty directory is unused too: the kubelet creates one for a pod that mounts the path. */
async function isUnused({ target }: Place): Promise<boolean> {
  return !(await exists(target)) || (await isEmptyDirectory(target))
}

/** Identifies the data of a download, so that a later mover recognizes it. */
function downloadOrigin({ endpoint, selection: { place, match, exclude, flat } }: DownloadInput): string {
  return [
    `${place.url} at ${endpoint}`,
    ...[...match].sort().map((glob) => `matching ${glob}`),
    ...[...exclude].sort().map((glob) => `without ${glob}`),
    ...(flat ? ['flat'] : []),
  ].join(', ')
}

async function remainingWork(
  manifest: Manifest,
  journal: Journal,
  reused: ReadonlySet<string>,
  partSize: number,
): Promise<{ bytes: number; files: number }> {
  let [bytes, files] = [manifest.bytes, manifest.files]
  if (!journal.resumed && reused.size === 0) return { bytes, files }
  for await (const entry of manifest.entries()) {
    const id = entryId(entry)
    const isDone = journal.isDone(id) || reused.has(id)
    if (isDone) files -= 1
    bytes -= isDone ? entry.size : Math.min(entry.size, journal.partsOf(id).size * partSize)
  }
  return { bytes, files }
}
