/** Downloads a dataset to a directory. The directory appears only when it is complete, unless the download is in place. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Selection } from '../../core/mover/select.ts'
import { formatBytes } from '../../core/quantity.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { runPool } from '../pool.ts'
import type { Progress } from '../progress.ts'
import { type Journal, openJournal } from './journal.ts'
import { idOf, type Manifest, writeManifest } from './manifest.ts'
import { ObjectFiles } from './object-files.ts'
import { keepEarlier, pruneInPlace, pruneStaging } from './prune.ts'
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
}

/** The result of a verb. */
export interface Done {
  bytes: number
  files: number
  digest?: string
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
  const origin = originOf(input)
  const complete = await readCompletion(place)
  if (complete?.origin === origin) return { ...resultOf(complete), message: 'the data is complete already' }
  const isFree = input.inPlace ? complete === undefined && (await isOurs(place)) : await isUnused(place)
  if (!isFree) {
    const what = complete === undefined ? 'files that no mover wrote' : `data of ${complete.origin}`
    throw new MoverError('TargetExists', `${input.target} has ${what}; delete it first, or use another target`)
  }
  await prepare(place)
  const store = await input.openStore(signal)
  for (let round = 1; ; round++) {
    try {
      return await downloadListed(input, store, place, origin, progress, signal)
    } catch (error) {
      const mayChange = error instanceof MoverError && error.code === 'SourceChanged'
      if (!mayChange || round === MAX_ROUNDS) throw error
    }
  }
}

async function downloadListed(
  input: DownloadInput,
  store: ObjectStore,
  place: Place,
  origin: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Done> {
  const manifestPath = join(place.state, 'manifest')
  if (input.inPlace) await keepEarlier(manifestPath)
  const manifest = await writeManifest(manifestPath, store, input.selection, signal, (bytes, files) =>
    progress.begin(bytes, files),
  )
  const journal = await openJournal(join(place.state, 'journal'), await journalHeader(input.partSize))
  try {
    // In place, the directory may have files of a pod, which the mover must keep.
    if (input.inPlace) await pruneInPlace(place.files, manifestPath, manifest, signal)
    else if (!(await isEmptyDirectory(place.files))) await pruneStaging(place.files, manifest, signal)
    const left = await leftOf(manifest, journal, input.partSize)
    await requireSpace(place.state, left.bytes, left.files, input.keepFree)
    progress.begin(manifest.bytes, manifest.files)
    const files = new ObjectFiles({
      ...input,
      store,
      folder: place.files,
      journal,
      progress,
      ...(input.inPlace && { parts: place.parts }),
    })
    await runPool(
      async function* jobs(ending) {
        for await (const entry of manifest.entries()) yield* files.jobsFor(entry, ending)
      },
      input.parallel,
      signal,
    )
  } finally {
    await journal.close()
  }
  const { files, bytes, digest } = manifest
  const completion = { origin, bytes, files, digest }
  await publish(place, completion)
  return resultOf(completion)
}

function resultOf({ bytes, files, digest }: Completion): Done {
  return { bytes, files, digest, message: `${files} files, ${formatBytes(bytes)}` }
}

/** Whether the mover may write to a target in place: it is unused, or an earlier attempt wrote to it. */
async function isOurs(place: Place): Promise<boolean> {
  return (await exists(place.state)) || (await isUnused(place))
}

/** Whether the target is unused. An empty directory is unused too: the kubelet creates one for a pod that mounts the path. */
async function isUnused({ target }: Place): Promise<boolean> {
  return !(await exists(target)) || (await isEmptyDirectory(target))
}

/** Identifies the data of a download, so that a later mover recognizes it. */
function originOf({ endpoint, selection: { place, match, exclude, flat } }: DownloadInput): string {
  return [
    `${place.url} at ${endpoint}`,
    ...[...match].sort().map((glob) => `matching ${glob}`),
    ...[...exclude].sort().map((glob) => `without ${glob}`),
    ...(flat ? ['flat'] : []),
  ].join(', ')
}

async function leftOf(
  manifest: Manifest,
  journal: Journal,
  partSize: number,
): Promise<{ bytes: number; files: number }> {
  let [bytes, files] = [manifest.bytes, manifest.files]
  if (!journal.resumed) return { bytes, files }
  for await (const entry of manifest.entries()) {
    const id = idOf(entry)
    const isDone = journal.isDone(id)
    if (isDone) files -= 1
    bytes -= isDone ? entry.size : Math.min(entry.size, journal.partsOf(id).size * partSize)
  }
  return { bytes, files }
}

async function journalHeader(partSize: number): Promise<string> {
  const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8').catch(() => 'unknown')
  return `lodestone journal 1, parts of ${partSize} bytes, boot ${boot.trim()}`
}
