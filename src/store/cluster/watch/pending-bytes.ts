/** Collects the bytes of an incomplete document or line over several chunks. */
export class PendingBytes {
  readonly #maxBytes: number
  readonly #tooLarge: () => Error
  readonly #decoder = new TextDecoder('utf-8', { fatal: true })
  #parts: Uint8Array[] = []
  #size = 0

  /** @param tooLarge makes the error that is thrown when more than `maxBytes` are pending */
  constructor(maxBytes: number, tooLarge: () => Error) {
    this.#maxBytes = maxBytes
    this.#tooLarge = tooLarge
  }

  /** Appends a part. Throws, and drops all bytes, when there are more than `maxBytes`. */
  hold(part: Uint8Array): void {
    this.#size += part.length
    if (this.#size > this.#maxBytes) {
      this.#parts = []
      throw this.#tooLarge()
    }
    if (part.length > 0) this.#parts.push(part)
  }

  /** Returns the pending bytes as text and drops them. Throws a TypeError for bytes that are not UTF-8. */
  take(): string {
    const [first] = this.#parts
    const bytes = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#size = 0
    return this.#decoder.decode(bytes)
  }
}
