/** Writes a stream at a position of a file: small pieces are gathered, so that a system call is worth its price. */
import type { FileHandle } from 'node:fs/promises'

/** As much as waits in memory per request under way. */
const GATHER_BYTES = 1024 * 1024

export class FileWriter {
  readonly #file: FileHandle
  #position: number
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(file: FileHandle, position: number) {
    this.#file = file
    this.#position = position
  }

  /** Takes a piece. A promise means: wait, it is being written. */
  write(chunk: Buffer): Promise<void> | undefined {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    return this.#bytes >= GATHER_BYTES ? this.flush() : undefined
  }

  /** Writes what has been gathered. */
  async flush(): Promise<void> {
    const [chunks, bytes] = [this.#chunks, this.#bytes]
    if (bytes === 0) return
    const position = this.#position
    this.#chunks = []
    this.#bytes = 0
    this.#position += bytes
    const { bytesWritten } = await this.#file.writev(chunks, position)
    if (bytesWritten < bytes)
      await this.#writeRest(Buffer.concat(chunks).subarray(bytesWritten), position + bytesWritten)
  }

  /** A disk that is nearly full takes a part before it refuses. */
  async #writeRest(rest: Buffer, position: number): Promise<void> {
    for (let done = 0; done < rest.length; ) {
      done += (await this.#file.write(rest, done, rest.length - done, position + done)).bytesWritten
    }
  }
}
