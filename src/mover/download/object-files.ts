/** Downloads objects into files: small objects whole, large objects in parts. A file is done when its checksum is verified. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, rename } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Checksum } from '../../core/mover/checksum.ts'
import { type CrcPiece, combineCrcs, isCrc } from '../../core/mover/crc.ts'
import { type Part, partAt, partCount } from '../../core/mover/parts.ts'
import type { Hasher } from '../checksum/crc.ts'
import { createHasher, hashFile } from '../checksum/hashing.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { fetchRange, fromTheStart, type Range, UnvalidatedRangeError } from '../objects/fetch-range.ts'
import { type ObjectStore, unquoteEtag } from '../objects/object-store.ts'
import type { Job } from '../pool.ts'
import type { Progress } from '../progress.ts'
import type { ChecksumLog } from './checksums.ts'
import { BlockPool, FileWriter } from './file-writer.ts'
import { Folders } from './folders.ts'
import type { Journal } from './journal.ts'
import { type Entry, idOf } from './manifest.ts'

export interface ObjectFilesInput {
  store: ObjectStore
  folder: string
  /** The directory of incomplete files; absent to write them in the folder itself. */
  parts?: string
  journal: Journal
  progress: Progress
  partSize: number
  verify: 'checksum' | 'size'
  checksums: ChecksumLog
  /** The ids of objects whose files are there already. */
  reused: ReadonlySet<string>
  /** Whether large objects are requested whole too, since the server sends ranges without ETags. */
  isWhole: boolean
}

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants
const FILE_MODE = 0o644
/** Attempts until the checksum matches. After a second mismatch, the fault is the server's, not the transfer's. */
const VERIFY_ATTEMPTS = 2

/** Yields the jobs that download an entry. It yields none for an entry that is done. */
export class ObjectFiles {
  readonly #input: ObjectFilesInput
  readonly #folders: Folders
  readonly #blocks = new BlockPool()

  constructor(input: ObjectFilesInput) {
    this.#input = input
    this.#folders = new Folders(input.folder)
  }

  async *jobsFor(entry: Entry, signal: AbortSignal): AsyncGenerator<Job> {
    const { journal, progress, folder, partSize, reused, isWhole } = this.#input
    const path = join(folder, entry.path)
    if (entry.isFolder) return void (await this.#folders.ensure(path))
    const id = idOf(entry)
    if ((journal.isDone(id) || reused.has(id)) && (await sizeOf(path)) === entry.size) {
      progress.adjust(entry.size)
      progress.fileDone()
    } else if (entry.size <= partSize || isWhole) {
      // The parts of an earlier attempt are overwritten.
      if (journal.partsOf(id).size > 0) journal.forget(id)
      yield () => this.#inOnePiece(entry, id, path, signal)
    } else {
      yield* this.#inParts(entry, id, path, signal)
    }
  }

  async #inOnePiece(entry: Entry, id: string, path: string, signal: AbortSignal): Promise<void> {
    await this.#folders.ensure(dirname(path))
    const written = this.#writtenAt(id, path)
    const file = await open(written, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, FILE_MODE)
    try {
      for (let attempt = 1; entry.size > 0; attempt++) {
        const fetch = () => this.#fetchAndVerify(entry, file, attempt, signal)
        if (await fromTheStart(this.#input.store.retry, signal, fetch)) break
      }
    } finally {
      await file.close()
    }
    await this.#done(entry, id, written, path)
  }

  /** Fetches an object and returns whether its checksum matches. Throws after the last attempt. */
  async #fetchAndVerify(entry: Entry, file: FileHandle, attempt: number, signal: AbortSignal): Promise<boolean> {
    const { store, verify, progress } = this.#input
    const check: { wanted?: Checksum; hasher?: Hasher } = {}
    const begin = (headers: Record<string, string | undefined>) => {
      const wanted = verify === 'size' ? undefined : store.checksumOf({ etag: entry.etag, ...headers })
      if (wanted) Object.assign(check, { wanted, hasher: createHasher(wanted.algorithm) })
    }
    const look = (chunk: Buffer) => check.hasher?.update(chunk)
    await this.#fetch(entry, { start: 0, end: entry.size }, file, look, signal, begin)
    const { wanted, hasher } = check
    if (!wanted || !hasher) return true
    const value = hasher.digest()
    if (value === wanted.value) {
      this.#input.checksums.add(entry, wanted)
      return true
    }
    progress.adjust(-entry.size)
    if (attempt >= VERIFY_ATTEMPTS) throw this.#mismatch(entry, wanted, value)
    return false
  }

  async *#inParts(entry: Entry, id: string, target: string, signal: AbortSignal): AsyncGenerator<Job> {
    const path = this.#writtenAt(id, target)
    const { journal, progress, partSize, store, verify } = this.#input
    await this.#folders.ensure(dirname(target))
    // If the file is missing although the journal has its parts, these parts would be holes.
    const there = (await sizeOf(path)) === undefined ? new Set<number>() : journal.partsOf(id)
    const parts = Array.from({ length: partCount(entry.size, partSize) }, (_, i) => partAt(i, entry.size, partSize))
    const missing = parts.filter(({ index }) => !there.has(index))
    for (const { index, start, end } of parts) if (there.has(index)) progress.adjust(end - start)
    const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | (there.size === 0 ? O_TRUNC : 0)
    const file = await open(path, flags, FILE_MODE)
    let left = missing.length
    const headers = await this.#requestHeaders(entry, signal)
    const wanted = headers && verify === 'checksum' ? store.checksumOf(headers) : undefined
    // Without an ETag in the listing, each part must have the ETag of the object before its parts.
    const pinned = { ...entry, etag: entry.etag || unquoteEtag(headers?.['etag']) }
    const crcs = new Map<number, string>()
    // Closes the file when the download ends early.
    const close = () => void file.close().catch(() => undefined)
    signal.addEventListener('abort', close, { once: true })

    const finish = async () => {
      signal.removeEventListener('abort', close)
      await file.truncate(entry.size)
      await file.close()
      if (wanted) await this.#verifyFile(entry, path, wanted, { parts, crcs }, signal)
      await this.#done(entry, id, path, target)
    }
    if (left === 0) yield finish
    for (const { index, start, end } of missing) {
      yield async () => {
        const crc = wanted && isCrc(wanted.algorithm) ? createHasher(wanted.algorithm) : undefined
        await this.#fetch(pinned, { start, end }, file, (chunk) => crc?.update(chunk), signal)
        if (crc) crcs.set(index, crc.digest())
        journal.add(id, index)
        left -= 1
        if (left === 0) await finish()
      }
    }
  }

  /**
   * Requests the checksum of an object, or its ETag, before its parts. Throws `SourceChanged` when the object is gone.
   */
  async #requestHeaders(entry: Entry, signal: AbortSignal): Promise<HttpResponse['headers'] | undefined> {
    const { store, verify } = this.#input
    if (verify === 'size' && entry.etag !== '') return undefined
    try {
      return await store.head(entry.key, signal)
    } catch (error) {
      const isGone = error instanceof MoverError && error.code === 'NotFound'
      throw isGone ? new MoverError('SourceChanged', error.message) : error
    }
  }

  /**
   * Verifies a file whose parts arrived in any order. The CRC of the file is combined from the CRCs of its parts; parts of an earlier mover
   * are read again. For other checksums, the whole file is read, mostly from the page cache. Progress subtracts the bytes to read and adds
   * them again while they are read, so that the long read does not count as stalled.
   */
  async #verifyFile(
    entry: Entry,
    path: string,
    wanted: Checksum,
    { parts, crcs }: { parts: readonly Part[]; crcs: ReadonlyMap<number, string> },
    signal: AbortSignal,
  ): Promise<void> {
    const { algorithm } = wanted
    const { progress } = this.#input
    const isRead = ({ index }: Part) => !isCrc(algorithm) || !crcs.has(index)
    progress.adjust(-parts.filter(isRead).reduce((sum, { start, end }) => sum + end - start, 0))
    const hash = (range?: Part) => hashFile(path, algorithm, signal, range, (bytes) => progress.adjust(bytes))
    let value: string
    if (isCrc(algorithm)) {
      const pieces: CrcPiece[] = []
      for (const part of parts) {
        pieces.push({ crc: crcs.get(part.index) ?? (await hash(part)), bytes: part.end - part.start })
      }
      value = combineCrcs(algorithm, pieces)
    } else value = await hash()
    if (value === wanted.value) return this.#input.checksums.add(entry, wanted)
    // The damaged part is unknown, so all parts are downloaded again.
    this.#input.journal.forget(idOf(entry))
    throw this.#mismatch(entry, wanted, value)
  }

  /** Fetches a range into a file. Calls `look` with each chunk. */
  async #fetch(
    entry: Entry,
    range: Range,
    file: FileHandle,
    look: (chunk: Buffer) => void,
    signal: AbortSignal,
    begin?: (headers: Record<string, string | undefined>) => void,
  ): Promise<void> {
    const writer = new FileWriter(file, range.start, this.#blocks)
    const { progress, store } = this.#input
    let received = 0
    const sink = (chunk: Buffer) => {
      look(chunk)
      progress.moved(chunk.length)
      received += chunk.length
      writer.write(chunk)
    }
    try {
      await fetchRange(store, entry, range, sink, signal, begin)
      writer.flush()
    } catch (error) {
      if (error instanceof UnvalidatedRangeError) progress.adjust(-received)
      throw error
    } finally {
      writer.release()
    }
  }

  #writtenAt(id: string, path: string): string {
    return this.#input.parts === undefined ? path : join(this.#input.parts, id)
  }

  async #done(entry: Entry, id: string, written: string, path: string): Promise<void> {
    // A rename keeps the time, so a pod that uses the data in place cannot change the file before its time is read.
    this.#input.checksums.addTime(entry, (await lstat(written)).mtimeMs)
    if (written !== path) await rename(written, path)
    this.#input.journal.add(id)
    this.#input.progress.fileDone()
  }

  #mismatch(entry: Entry, { algorithm, value }: Checksum, got: string): MoverError {
    return new MoverError(
      'ChecksumMismatch',
      `${this.#input.store.nameOf(entry.key)}: its ${algorithm} is ${got}, expected ${value}; ` +
        'the data is damaged, or the server has a wrong checksum: then set --verify size',
    )
  }
}

/** The size of a file; undefined when there is no regular file. */
async function sizeOf(path: string): Promise<number | undefined> {
  return lstat(path).then(
    (stats) => (stats.isFile() ? stats.size : undefined),
    () => undefined,
  )
}
