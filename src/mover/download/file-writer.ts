/** Writes a stream at a position of a file. */
import type { FileHandle } from 'node:fs/promises'

export class FileWriter {
  readonly #file: FileHandle
  #position: number

  constructor(file: FileHandle, position: number) {
    this.#file = file
    this.#position = position
  }

  /** Writes a chunk. The chunk must not change until the promise resolves. */
  async write(piece: Buffer): Promise<void> {
    const position = this.#position
    this.#position += piece.length
    // A disk that is nearly full writes a part of the chunk before it fails.
    for (let done = 0; done < piece.length; ) {
      done += (await this.#file.write(piece, done, piece.length - done, position + done)).bytesWritten
    }
  }
}
