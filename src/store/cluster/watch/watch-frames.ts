/** Splits the byte stream of a watch into lines, one JSON document each, with any chunk borders. */
import { PendingBytes } from './pending-bytes.ts'

const NEWLINE = 0x0a
/** Larger than any object in etcd (1.5 MiB by default), and small enough for the memory. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024

/** A line without an end: the stream is not a watch, and would fill the memory. */
export class FrameTooLargeError extends Error {
  override name = 'FrameTooLargeError'
  constructor(maxBytes: number) {
    super(`the watch sent more than ${maxBytes} bytes without a line end`)
  }
}

/**
 * Searches the bytes for newlines, which are never part of a multi-byte character. Only whole lines are decoded, so a chunk may end inside
 * a character.
 */
export class FrameDecoder {
  readonly #pending: PendingBytes

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#pending = new PendingBytes(maxBytes, () => new FrameTooLargeError(maxBytes))
  }

  /**
   * Yields the lines that `chunk` completes, in order, without line ends and without empty lines. The caller must read all lines before the
   * next call. Throws `FrameTooLargeError`, and a TypeError for bytes that are not UTF-8.
   */
  *push(chunk: Uint8Array): Generator<string, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#pending.hold(chunk.subarray(start, end))
      start = end + 1
      const line = this.#pending.take()
      if (line.trim() !== '') yield line
    }
    this.#pending.hold(chunk.subarray(start))
  }

  /** The number of bytes of an incomplete line. At the end of a stream, this event is lost, and the next watch repeats it. */
  get pendingBytes(): number {
    return this.#pending.size
  }
}
