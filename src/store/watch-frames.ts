/** Cuts a watch's byte stream into its lines, one JSON document each, whatever the borders of the chunks are. */

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
 * Newlines are looked for in the bytes, where no part of a multi-byte character can be mistaken for one, and only whole lines
 * are decoded: so a chunk border inside a character needs no special care.
 */
export class FrameDecoder {
  readonly #maxBytes: number
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #pending: Uint8Array[] = []
  #pendingBytes = 0

  constructor(maxBytes = MAX_FRAME_BYTES) {
    this.#maxBytes = maxBytes
  }

  /**
   * The lines that `chunk` completes, in order and without their ends; empty lines are left out. Must be drained before the
   * next call. Throws `FrameTooLargeError`, and a TypeError for bytes that are not UTF-8.
   */
  *push(chunk: Uint8Array): Generator<string, void, undefined> {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#hold(chunk.subarray(start, end))
      start = end + 1
      const line = this.#take()
      if (line.trim() !== '') yield line
    }
    this.#hold(chunk.subarray(start))
  }

  /** Bytes of a line that has not ended yet. At the end of a stream they are a cut-off event, which the next watch repeats. */
  get pendingBytes(): number {
    return this.#pendingBytes
  }

  #hold(part: Uint8Array): void {
    this.#pendingBytes += part.length
    if (this.#pendingBytes > this.#maxBytes) {
      this.#pending = []
      throw new FrameTooLargeError(this.#maxBytes)
    }
    if (part.length > 0) this.#pending.push(part)
  }

  #take(): string {
    const [first] = this.#pending
    const bytes = this.#pending.length === 1 && first !== undefined ? first : Buffer.concat(this.#pending)
    this.#pending = []
    this.#pendingBytes = 0
    return this.#decoder.decode(bytes)
  }
}
