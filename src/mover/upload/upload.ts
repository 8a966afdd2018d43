/** Uploads the files of a directory that pods changed since it was downloaded or uploaded. It never deletes an object. */
import type { FileHandle } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectPlace } from '../../base/objects.ts'
import { formatBytes } from '../../base/quantity.ts'
import type { Done } from '../download/download.ts'
import { locate, type Place } from '../download/staging.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { takeOver } from '../owner.ts'
import { runPool } from '../pool.ts'
import type { Progress } from '../progress.ts'
import { openBase, type UploadBase } from './base.ts'
import { openBelow } from './open-below.ts'
import { type Seen, walk } from './walk.ts'
import { type Conflict, writeBack } from './write-back.ts'

export interface UploadInput {
  openStore: (signal: AbortSignal) => Promise<ObjectStore>
  root: string
  source: string
  place: ObjectPlace
  partSize: number
  parallel: number
  /** Milliseconds between rounds of a continuous upload; absent for an upload that ends. */
  watchMs?: number
}

/** The most rounds of an upload that ends. A file that changes during a round is checked in the next one. */
const MAX_ROUNDS = 3

/** The most names in a message. */
const MAX_NAMED = 20

/**
 * Uploads the directory. Throws a `MoverError`, or the reason of the signal.
 *
 * `WriteConflict`: the source has two versions of an object now. `UnsafeKey`: the name of a file cannot be a key. All other files are
 * uploaded then.
 */
export async function upload(input: UploadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const place = await locate(input.root, input.source)
  const owner = await takeOver(place, signal)
  return uploadFrom(place, input, progress, owner.signal).finally(() => owner.release())
}

async function uploadFrom(place: Place, input: UploadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const store = await input.openStore(signal)
  const base = await openBase(place, input.place)
  try {
    for (let round = 1; ; round++) {
      const { files, bytes, changing, conflicts, unnamed } = await uploadOnce(
        { ...input, folder: place.target, store, base },
        progress,
        signal,
      )
      throwIfUnnamed(unnamed)
      throwIfConflicting(store, conflicts)
      if (input.watchMs !== undefined) {
        await sleep(input.watchMs, undefined, { signal })
      } else if (changing.length === 0) {
        return { files, bytes, message: `${files} files, ${formatBytes(bytes)}` }
      } else if (round === MAX_ROUNDS) {
        throw new MoverError('SourceChanged', `still being written, and not uploaded: ${named(changing)}`)
      }
    }
  } finally {
    await base.close()
  }
}

interface RoundInput extends UploadInput {
  folder: string
  store: ObjectStore
  base: UploadBase
}

async function uploadOnce(input: RoundInput, progress: Progress, outer: AbortSignal) {
  const { folder, place, parallel } = input
  const changing: string[] = []
  const conflicts: Conflict[] = []
  const unnamed: string[] = []
  let [files, bytes] = [0, 0]
  for await (const one of walk(folder, outer)) {
    if ('unnamed' in one) continue
    files += 1
    bytes += one.stats.size
  }
  progress.begin(bytes, files)

  async function handle(path: string, stats: Seen, file: FileHandle, signal: AbortSignal): Promise<void> {
    const conflict = await writeBack({ ...input, progress }, { key: `${place.key}${path}`, stats, file }, signal)
    if (conflict) conflicts.push(conflict)
    const { mtimeMs, size } = await file.stat()
    if (mtimeMs !== stats.mtimeMs || size !== stats.size) changing.push(path)
    progress.fileDone()
  }

  await runPool(
    async function* jobs(signal) {
      for await (const one of walk(folder, signal)) {
        if ('unnamed' in one) {
          unnamed.push(one.unnamed)
          continue
        }
        yield async () => {
          const file = await openBelow(folder, one.path)
          if (file === undefined) return void changing.push(one.path)
          await handle(one.path, one.stats, file, signal).finally(() => file.close())
        }
      }
    },
    parallel,
    outer,
  )
  return { files, bytes, changing, conflicts, unnamed }
}

function throwIfUnnamed(paths: readonly string[]): void {
  if (paths.length === 0) return
  throw new MoverError('UnsafeKey', `names that are not UTF-8 cannot be keys: ${named(paths)}; rename them`)
}

function throwIfConflicting(store: ObjectStore, conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return
  const copies = conflicts.map(({ key, copy }) => `${store.objectUri(key)} (copy ${copy.slice(key.length)})`)
  throw new MoverError(
    'WriteConflict',
    `another client changed objects that pods changed too: ${named(copies)}; keep one version of each, and delete the copy`,
  )
}

function named(names: readonly string[]): string {
  const more = names.length > MAX_NAMED ? `, and ${names.length - MAX_NAMED} more` : ''
  return `${names.slice(0, MAX_NAMED).join(', ')}${more}`
}
