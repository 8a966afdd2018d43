/**
 * Writes a stream at a position of a file, with synchronous calls. The kernel copies a chunk into its page cache while the chunk is still in
 * the cache of the processor. A thread pool needs twice the CPU time (docs/adr/0017).
 */
import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

export class FileWriter {
  readonly #file: FileHandle
  #position: number

  constructor(file: FileHandle, position: number) {
    this.#file = file
    this.#position = position
  }

  write(chunk: Buffer): void {
    // A disk that is nearly full writes a part of the chunk before it fails.
    for (let done = 0; done < chunk.length; ) {
      const written = writeSync(this.#file.fd, chunk, done, chunk.length - done, this.#position)
      done += written
      this.#position += written
    }
  }
}
