/**
 * Writes a stream at a position of a file, with synchronous calls. The kernel copies a chunk into its page cache while the chunk is still in
 * the cache of the processor. A thread pool needs twice the CPU time (docs/dev/adr/volumes/0017).
 */
import { writeSync } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'

/** Smaller chunks are collected. TLS passes on 16 KiB at a time, and writes of that size need more CPU time. */
const BLOCK_BYTES = 64 * 1024

/** Blocks that are used again: one for each concurrent stream. */
export class BlockPool {
  readonly #free: Buffer[] = []

  take(): Buffer {
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  give(block: Buffer): void {
    this.#free.push(block)
  }
}

export class FileWriter {
  readonly #file: FileHandle
  readonly #pool: BlockPool
  readonly #block: Buffer
  #filled = 0
  #position: number

  constructor(file: FileHandle, position: number, pool: BlockPool) {
    this.#file = file
    this.#position = position
    this.#pool = pool
    this.#block = pool.take()
  }

  write(chunk: Buffer): void {
    if (this.#filled + chunk.length > BLOCK_BYTES) this.flush()
    if (chunk.length >= BLOCK_BYTES) this.#writeAll(chunk)
    else this.#filled += chunk.copy(this.#block, this.#filled)
  }

  /** Writes the collected chunks. */
  flush(): void {
    const filled = this.#filled
    this.#filled = 0
    this.#writeAll(this.#block.subarray(0, filled))
  }

  /** Ends the use of the writer. Chunks that are not flushed are lost. */
  release(): void {
    this.#pool.give(this.#block)
  }

  #writeAll(bytes: Buffer): void {
    // A disk that is nearly full writes a part before it fails.
    for (let done = 0; done < bytes.length; ) {
      const written = writeSync(this.#file.fd, bytes, done, bytes.length - done, this.#position)
      done += written
      this.#position += written
    }
  }
}
