/** Removes the length before each frame of a connection, with a limit for the length. */
import { MAX_MESSAGE_BYTES, ThriftProtocolError } from './protocol.ts'

const LENGTH_BYTES = 4

export class FrameReader {
  #length = 0
  #lengthBytes = 0
  #left = 0

  /** Returns the content of the frames in a chunk. Throws `ThriftProtocolError` for a length that no frame has. */
  unframe(chunk: Buffer): Buffer[] {
    const content: Buffer[] = []
    for (let at = 0; at < chunk.length; ) {
      if (this.#left > 0) {
        const part = chunk.subarray(at, at + this.#left)
        content.push(part)
        this.#left -= part.length
        at += part.length
      } else {
        this.#readLength(chunk[at] ?? 0)
        at++
      }
    }
    return content
  }

  #readLength(byte: number): void {
    this.#length = (this.#length << 8) | byte
    this.#lengthBytes++
    if (this.#lengthBytes < LENGTH_BYTES) return
    if (this.#length <= 0 || this.#length > MAX_MESSAGE_BYTES) {
      throw new ThriftProtocolError('the length of a frame is not between 1 byte and 8 MiB')
    }
    this.#left = this.#length
    this.#length = 0
    this.#lengthBytes = 0
  }
}
