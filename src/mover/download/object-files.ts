/** Downloads objects into files: small objects whole, large objects in parts. A file is done when its checksum is verified. */
import { join } from 'node:path'
import type { Job } from '../pool.ts'
import { BackgroundFlush } from './background-flush.ts'
import { BlockPool } from './file-writer.ts'
import { Folders } from './folders.ts'
import type { Entry } from './manifest.ts'
import { type FileContext, fileSize, ObjectFile } from './object-file.ts'
import { requestsFor } from './object-parts.ts'
import { downloadWhole } from './whole-object.ts'

export interface ObjectFilesInput extends Omit<FileContext, 'folders' | 'blocks' | 'flush'> {
  /** The ids of objects whose files are there already. */
  reused: ReadonlySet<string>
  /** Whether large objects are requested whole too, since the server sends ranges without ETags. */
  isWhole: boolean
}

export class ObjectFiles {
  readonly #input: ObjectFilesInput
  readonly #context: FileContext

  constructor(input: ObjectFilesInput) {
    this.#input = input
    const shared = { folders: new Folders(input.folder), blocks: new BlockPool(), flush: new BackgroundFlush() }
    this.#context = { ...input, ...shared }
  }

  /** Yields the jobs that download an entry. It yields none for an entry that is done. */
  async *jobsFor(entry: Entry, signal: AbortSignal): AsyncGenerator<Job> {
    const { journal, progress, folder, partSize, reused, isWhole } = this.#input
    if (entry.isFolder) return void (await this.#context.folders.ensure(join(folder, entry.path)))
    const file = new ObjectFile(this.#context, entry)
    // A reused file was counted when it was linked. Another process may have changed it since.
    if (reused.has(file.id)) progress.countFile(-entry.size, -1)
    if ((journal.isDone(file.id) || reused.has(file.id)) && (await fileSize(file.path)) === entry.size) {
      progress.countFile(entry.size)
    } else if (entry.size <= partSize) {
      yield () => downloadWhole(file, signal)
    } else if (isWhole) {
      // The parts that are recorded are overwritten.
      journal.forget(file.id)
      yield () => downloadWhole(file, signal)
    } else {
      yield* requestsFor(file, signal)
    }
  }

  /** Resolves when the flush in the background has ended. Throws its error. */
  async end(): Promise<void> {
    await this.#context.flush.end()
  }
}
