/** Uploads the files of a directory that pods changed since it was downloaded or uploaded. It never deletes an object. */
import { type FileHandle, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { firstCharacters } from '../../base/first-characters.ts'
import { isObject, parseJson } from '../../base/json.ts'
import type { ObjectPlace } from '../../base/objects.ts'
import { formatBytes } from '../../base/quantity.ts'
import { FAILURES, type FailureCode } from '../../core/mover-contract/contract.ts'
import type { Done } from '../download/download.ts'
import { openLossyLog } from '../download/line-log.ts'
import { finishReplacement } from '../download/replace.ts'
import { locate, type Place } from '../download/staging.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore, PendingUpload, PendingUploads } from '../objects/object-store.ts'
import { takeOver } from '../owner.ts'
import { runPool } from '../pool.ts'
import type { Progress } from '../progress.ts'
import { openBase, type UploadBase } from './base.ts'
import { openBelow } from './open-below.ts'
import { isUnreadable, type Seen, unreadableError, walk } from './walk.ts'
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

/** The most characters of a name in a message. */
const MAX_NAME_LENGTH = 200

/** The files that the server may reject before the upload ends: the cause may be the same for all files. */
const MAX_REJECTED = 100

/**
 * Uploads the directory. Throws a `MoverError`, or the reason of the signal.
 *
 * - `WriteConflict`: the source has two versions of an object now.
 * - `UnsafeKey`: the name of a file cannot be a key.
 * - `KeyConflict`: an object would be a file and a folder.
 * - `Rejected`: the server refuses a file.
 * - `Unexpected`: the disk cannot read a file.
 *
 * All other files are uploaded then. The last four come first: with a conflict alone, the source has all that pods wrote.
 */
export async function upload(input: UploadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  const place = await locate(input.root, input.source)
  const owner = await takeOver(place, signal)
  return uploadFrom(place, input, progress, owner.signal).finally(() => owner.release())
}

async function uploadFrom(place: Place, input: UploadInput, progress: Progress, signal: AbortSignal): Promise<Done> {
  // The volume was refreshed before pods could write it.
  await finishReplacement(place)
  const store = await input.openStore(signal)
  const pending = await openPending(place, store, signal)
  const base = await openBase(place, input.place)
  try {
    for (let round = 1; ; round++) {
      const { files, bytes, changing, conflicts, refused, left } = await uploadOnce(
        { ...input, folder: place.target, store, base, pending },
        progress,
        signal,
      )
      refused.throwIfAny()
      throwIfConflicting(conflicts)
      if (input.watchMs !== undefined) {
        await sleep(input.watchMs, undefined, { signal })
      } else if (changing.isEmpty) {
        return { files, bytes, message: `${files} files, ${formatBytes(bytes)}${withoutLeft(left)}` }
      } else if (round === MAX_ROUNDS) {
        throw new MoverError(
          'SourceChanged',
          `still being written: ${changing.join()}; their last changes are not uploaded`,
        )
      }
    }
  } finally {
    await Promise.all([base.close(), pending.close()])
  }
}

interface RoundInput extends UploadInput {
  folder: string
  store: ObjectStore
  base: UploadBase
  pending: PendingUploads
}

async function uploadOnce(input: RoundInput, progress: Progress, outer: AbortSignal) {
  const { folder, place, parallel } = input
  const changing = new NameList()
  const conflicts = new NameList()
  const refused = new RefusedFiles()
  const left = new NameList()
  let [files, bytes] = [0, 0]
  progress.begin(0, 0)
  for await (const one of walk(folder, outer)) {
    if (!('path' in one)) continue
    files += 1
    bytes += one.stats.size
    // To count millions of files takes longer than a mover may be without progress.
    progress.fileDone()
  }
  progress.begin(bytes, files)

  async function handle(path: string, stats: Seen, file: FileHandle, signal: AbortSignal): Promise<void> {
    try {
      const conflict = await writeBack({ ...input, progress }, { key: `${place.key}${path}`, stats, file }, signal)
      if (conflict) conflicts.add(describeConflict(input.store, conflict))
    } catch (error) {
      if (!isAboutOneFile(error) && !isUnreadable(error)) throw error
      const fault = isAboutOneFile(error) ? error : unreadableError(path, error)
      if (fault.code === 'SourceChanged') return changing.add(path)
      refused.add(fault)
    }
    const { mtimeMs, size } = await file.stat()
    if (mtimeMs !== stats.mtimeMs || size !== stats.size) changing.add(path)
    progress.fileDone()
  }

  await runPool(
    async function* jobs(signal) {
      for await (const one of walk(folder, signal)) {
        if ('left' in one) left.add(one.left)
        else if ('unnamed' in one) refused.add(unnamedError(one))
        else if ('unreadable' in one) refused.add(one.unreadable)
        else {
          yield async () => {
            const file = await openBelow(folder, one.path)
            if (file === undefined) return changing.add(one.path)
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
  return new MoverError('UnsafeKey', `the path ${firstCharacters(unnamed, MAX_NAME_LENGTH)} ${reason}; rename it`)
}

/** The files that cannot be written. */
class RefusedFiles {
  readonly #messages = new NameList()
  #first: MoverError | undefined
  #rejected = 0

  /** Throws the error if the server has rejected too many files. */
  add(error: MoverError): void {
    this.#first ??= error
    this.#messages.add(error.message)
    if (error.code === 'Rejected' && ++this.#rejected > MAX_REJECTED) throw error
  }

  throwIfAny(): void {
    if (this.#first) throw new MoverError(this.#first.code, `not uploaded: ${this.#messages.join('; ')}`)
  }
}

function describeConflict(store: ObjectStore, { key, copy }: Conflict): string {
  const name = copy.startsWith(key) ? copy.slice(key.length) : copy.slice(copy.lastIndexOf('/') + 1)
  return `${store.objectUri(key)} (copy ${name})`
}

function throwIfConflicting(conflicts: NameList): void {
  if (conflicts.isEmpty) return
  throw new MoverError(
    'WriteConflict',
    `another client changed objects that pods changed too: ${conflicts.join()}; keep one version of each, and delete the copy`,
  )
}

function withoutLeft(left: NameList): string {
  return left.isEmpty ? '' : `; not uploaded, since they are no files: ${left.join()}`
}

/** The most names in a message. */
const MAX_NAMED = 20

/** Names for a message: the first ones, and the number of the others. A folder may have millions of files. */
export class NameList {
  readonly #first: string[] = []
  #count = 0

  add(name: string): void {
    this.#count += 1
    if (this.#count <= MAX_NAMED) this.#first.push(name)
  }

  get isEmpty(): boolean {
    return this.#count === 0
  }

  /** Returns the names in the order in which they were added, e.g. `a, b, and 7 more`. */
  join(between = ', '): string {
    const more = this.#count > MAX_NAMED ? `${between}and ${this.#count - MAX_NAMED} more` : ''
    return `${this.#first.join(between)}${more}`
  }
}

const pendingFile = ({ state }: Pick<Place, 'state'>) => join(state, 'pending')

/**
 * Aborts the uploads of an earlier mover, and begins a new record with those that may be aborted later. The state directory exists. An upload that
 * cannot be aborted does not prevent others.
 */
export async function openPending(place: Place, store: ObjectStore, signal: AbortSignal): Promise<PendingUploads> {
  const left: PendingUpload[] = []
  for (const one of await readPending(place, store)) {
    await store.abort?.(one, signal).catch((error: unknown) => {
      if (!(error instanceof MoverError)) throw error
      // Else it has ended, or the credentials may not abort it.
      if (FAILURES[error.code].retry) left.push(one)
    })
  }
  const log = await openLossyLog(pendingFile(place), 'w')
  const begin = (one: PendingUpload) => log.append(JSON.stringify({ ...one, uri: store.objectUri(one.key) }))
  left.forEach(begin)
  return { begin, end: ({ id }) => log.append(JSON.stringify({ ended: id })), close: log.close }
}

/** The uploads to this store that have begun and not ended. Skips the incomplete line of a mover that was killed. */
async function readPending(place: Place, store: ObjectStore): Promise<PendingUpload[]> {
  const text = await readFile(pendingFile(place), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
  const pending = new Map<string, PendingUpload>()
  for (const line of text.split('\n')) {
    const value = parseJson(line)
    if (!isObject(value)) continue
    const { key, id, uri, ended } = value
    if (typeof ended === 'string') pending.delete(ended)
    else if (typeof key === 'string' && typeof id === 'string' && uri === store.objectUri(key))
      pending.set(id, { key, id })
  }
  return [...pending.values()]
}
