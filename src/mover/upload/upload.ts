/** Uploads the files of a directory that pods changed since it was downloaded or uploaded. It never deletes an object. */
import type { FileHandle } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ObjectPlace } from '../../base/objects.ts'
import { formatBytes } from '../../base/quantity.ts'
import type { FailureCode } from '../../core/mover-contract/contract.ts'
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

/** The most names in a message, and the most characters of each. */
const MAX_NAMED = 20
const MAX_NAME_LENGTH = 200

/** The files that the server may refuse before the upload ends: the cause may be the same for all files. */
const MAX_REFUSED = 100

/**
 * Uploads the directory. Throws a `MoverError`, or the reason of the signal.
 *
 * - `WriteConflict`: the source has two versions of an object now.
 * - `UnsafeKey`: the name of a file cannot be a key.
 * - `KeyConflict`: an object would be a file and a folder.
 * - `Rejected`: the server refuses a file.
 *
 * All other files are uploaded then. The last three come first: with a conflict alone, the source has all that pods wrote.
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
      const { files, bytes, changing, conflicts, refused, left } = await uploadOnce(
        { ...input, folder: place.target, store, base },
        progress,
        signal,
      )
      throwIfRefused(refused)
      throwIfConflicting(store, conflicts)
      if (input.watchMs !== undefined) {
        await sleep(input.watchMs, undefined, { signal })
      } else if (changing.length === 0) {
        return { files, bytes, message: `${files} files, ${formatBytes(bytes)}${withoutLeft(left)}` }
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
  const refused: MoverError[] = []
  const left: string[] = []
  let [files, bytes] = [0, 0]
  for await (const one of walk(folder, outer)) {
    if (!('path' in one)) continue
    files += 1
    bytes += one.stats.size
  }
  progress.begin(bytes, files)

  async function handle(path: string, stats: Seen, file: FileHandle, signal: AbortSignal): Promise<void> {
    try {
      const conflict = await writeBack({ ...input, progress }, { key: `${place.key}${path}`, stats, file }, signal)
      if (conflict) conflicts.push(conflict)
    } catch (error) {
      if (!isAboutOneFile(error)) throw error
      if (error.code === 'SourceChanged') return void changing.push(path)
      if (refused.push(error) > MAX_REFUSED) throw error
    }
    const { mtimeMs, size } = await file.stat()
    if (mtimeMs !== stats.mtimeMs || size !== stats.size) changing.push(path)
    progress.fileDone()
  }

  await runPool(
    async function* jobs(signal) {
      for await (const one of walk(folder, signal)) {
        if ('left' in one) left.push(one.left)
        else if ('unnamed' in one) refused.push(unnamedError(one))
        else {
          yield async () => {
            const file = await openBelow(folder, one.path)
            if (file === undefined) return void changing.push(one.path)
            await handle(one.path, one.stats, file, signal).finally(() => file.close())
          }
        }
      }
    },
    parallel,
    outer,
  )
  return { files, bytes, changing, conflicts, refused, left }
}

/** The codes of errors about one file. With any other error, such as invalid credentials, the upload ends. */
const OF_ONE_FILE: ReadonlySet<FailureCode> = new Set(['SourceChanged', 'UnsafeKey', 'KeyConflict', 'Rejected'])

function isAboutOneFile(error: unknown): error is MoverError {
  return error instanceof MoverError && OF_ONE_FILE.has(error.code)
}

function unnamedError({ unnamed, reason }: { unnamed: string; reason: string }): MoverError {
  return new MoverError('UnsafeKey', `the path ${unnamed.slice(0, MAX_NAME_LENGTH)} ${reason}; rename it`)
}

function throwIfRefused(refused: readonly MoverError[]): void {
  const [first] = refused
  if (first === undefined) return
  throw new MoverError(
    first.code,
    `not uploaded: ${named(
      refused.map(({ message }) => message),
      '; ',
    )}`,
  )
}

function throwIfConflicting(store: ObjectStore, conflicts: readonly Conflict[]): void {
  if (conflicts.length === 0) return
  const copies = conflicts.map(({ key, copy }) => `${store.objectUri(key)} (copy ${copy.slice(key.length)})`)
  throw new MoverError(
    'WriteConflict',
    `another client changed objects that pods changed too: ${named(copies)}; keep one version of each, and delete the copy`,
  )
}

function withoutLeft(left: readonly string[]): string {
  return left.length === 0 ? '' : `; not uploaded, since they are no files: ${named(left)}`
}

function named(names: readonly string[], between = ', '): string {
  const more = names.length > MAX_NAMED ? `${between}and ${names.length - MAX_NAMED} more` : ''
  return `${names.slice(0, MAX_NAMED).join(between)}${more}`
}
