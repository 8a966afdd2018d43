/** A queue of received bytes: chunks enter as they arrive, and numbers and texts leave. It copies only what a caller takes. */

export class ByteQueue {
  readonly #chunks: Buffer[] = []
  #offset = 0
  #size = 0

  /** The number of bytes that can be read now. */
  get size(): number {
    return this.#size
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#size += chunk.length
  }

  /** The next byte. The caller checks `size` first, as for the other numbers. */
  byte(): number {
    const value = this.#chunks[0]?.[this.#offset]
    if (value === undefined) throw new Error('the queue is empty')
    this.#advance(1)
    return value
  }

  int16(): number {
    return ((this.byte() << 24) >> 16) | this.byte()
  }

  int32(): number {
    return (this.byte() << 24) | (this.byte() << 16) | (this.byte() << 8) | this.byte()
  }

  /** The next `length` bytes as UTF-8. */
  text(length: number): string {
    const parts: Buffer[] = []
    for (let left = length; left > 0; ) {
      const part = this.#head(left)
      parts.push(part)
      left -= part.length
      this.#advance(part.length)
    }
    return Buffer.concat(parts).toString('utf8')
  }

  /** Drops at most `length` bytes, and returns how many. */
  drop(length: number): number {
    const wanted = Math.min(length, this.#size)
    for (let left = wanted; left > 0; ) {
      const { length: dropped } = this.#head(left)
      left -= dropped
      this.#advance(dropped)
    }
    return wanted
  }

  #head(most: number): Buffer {
    const chunk = this.#chunks[0]
    if (chunk === undefined) throw new Error('the queue is empty')
    return chunk.subarray(this.#offset, this.#offset + most)
  }

  #advance(count: number): void {
    this.#offset += count
    this.#size -= count
    if (this.#offset < (this.#chunks[0]?.length ?? 0)) return
    this.#chunks.shift()
    this.#offset = 0
  }
}
