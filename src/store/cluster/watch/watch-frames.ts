/** Cuts a watch's byte stream into its lines, one JSON document each, whatever the borders of the chunks are. */
import { PendingBytes } from './pending-bytes.ts'

const NEWLINE = 0x0a
/** Larger than any object that etcd takes (1.5 MiB by default), small enough to hold. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024

/** A line that does not end: the stream is no watch, and reading on would only grow. */
export class FrameTooLargeError extends Error {
  override name = 'FrameTooLargeError'
  constructor(maxBytes: number) {
    super(`the watch sent more than ${maxBytes} bytes without a line end`)
  }
}

/**
 * Looks for newlines in the bytes, where no part of a multi-byte character can be mistaken for one. Only whole lines are
 * decoded, so a chunk border inside a character needs no special care.
 */
export class FrameDecoder {
  readonly #pending: PendingBytes

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#pending = new PendingBytes(maxBytes, () => new FrameTooLargeError(maxBytes))
  }

  /**
   * The lines that `chunk` completes, in order and without their ends; empty lines are left out. Must be drained before the
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

  /** Bytes of a line that has not ended yet. At the end of a stream they are a cut-off event, which the next watch repeats. */
  get pendingBytes(): number {
    return this.#pending.size
  }
}
