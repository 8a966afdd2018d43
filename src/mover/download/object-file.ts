/** The file of one object: where it is written, how bytes get into it, and when it is done. */
import { type FileHandle, lstat, open, rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { Checksum } from '../../base/checksum.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { fetchRange, type Range, UnvalidatedRangeError } from '../objects/fetch-range.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import type { Progress } from '../progress.ts'
import type { BackgroundFlush } from './background-flush.ts'
import type { ChecksumLog } from './checksums.ts'
import { type BlockPool, FileWriter } from './file-writer.ts'
import type { Folders } from './folders.ts'
import type { Journal } from './journal.ts'
import { type Entry, entryId } from './manifest.ts'

/** What all files of a download share. */
export interface FileContext {
  store: ObjectStore
  folder: string
  /** The directory of incomplete files; absent to write them in the folder itself. */
  parts?: string
  journal: Journal
  progress: Progress
  partSize: number
  /** The number of concurrent requests. */
  parallel: number
  verify: 'checksum' | 'size'
  checksums: ChecksumLog
  folders: Folders
  blocks: BlockPool
  flush: BackgroundFlush
}

const FILE_MODE = 0o644

/** Receives the bytes of a range in order; `writer` writes them into the file. */
export type RangeSink = (chunk: Buffer, writer: FileWriter) => void

export class ObjectFile {
  readonly context: FileContext
  readonly entry: Entry
  readonly id: string
  /** Where the complete file appears. */
  readonly path: string
  /** Where the bytes are written. */
  readonly written: string

  constructor(context: FileContext, entry: Entry) {
    this.context = context
    this.entry = entry
    this.id = entryId(entry)
    this.path = join(context.folder, entry.path)
    this.written = context.parts === undefined ? this.path : join(context.parts, this.id)
  }

  /** Opens the file for writing. Further `flags` are those of open(2). */
  open(flags: number): Promise<FileHandle> {
    return open(this.written, flags, FILE_MODE)
  }

  /**
   * Fetches a range of the object. The sink gets each byte once, in order.
   *
   * @param entry the listed object, with the ETag that the response must have.
   * @param begin called with the headers of the first response, before any byte.
   */
  async fetch(
    entry: Entry,
    range: Range,
    file: FileHandle,
    sink: RangeSink,
    signal: AbortSignal,
    begin?: (headers: HttpResponse['headers']) => void,
  ): Promise<void> {
    const { store, progress, blocks } = this.context
    const writer = new FileWriter(file, range.start, blocks)
    let received = 0
    const take = (chunk: Buffer) => {
      progress.moved(chunk.length)
      received += chunk.length
      sink(chunk, writer)
    }
    try {
      await fetchRange(store, entry, range, take, signal, begin)
      writer.flush()
    } catch (error) {
      if (error instanceof UnvalidatedRangeError) progress.adjust(-received)
      throw error
    } finally {
      writer.release()
    }
  }

  /** Records the file as done. Its data is written and verified. */
  async done(): Promise<void> {
    const { checksums, journal, progress } = this.context
    // A rename keeps the time, so a pod that uses the data in place cannot change the file before its time is read.
    checksums.addTime(this.entry, (await lstat(this.written)).mtimeMs)
    if (this.written !== this.path) await rename(this.written, this.path)
    journal.add(this.id)
    progress.fileDone()
  }

  mismatch({ algorithm, value }: Checksum, got: string): MoverError {
    return new MoverError(
      'ChecksumMismatch',
      `${this.context.store.objectUri(this.entry.key)}: its ${algorithm} is ${got}, expected ${value}; ` +
        'the data is damaged, or the server has a wrong checksum: then set --verify size',
    )
  }
}

/** The size of a file; undefined when there is no regular file. */
export async function fileSize(path: string): Promise<number | undefined> {
  return lstat(path).then(
    (stats) => (stats.isFile() ? stats.size : undefined),
    () => undefined,
  )
}
