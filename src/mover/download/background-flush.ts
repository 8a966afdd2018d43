/**
 * Flushes files to the disk while more data arrives, so that the flush before publishing has little left. Without it, that flush is half of
 * the time of a large object (docs/dev/adr/volumes/0017).
 */
import type { FileHandle } from 'node:fs/promises'

/** Runs at most one flush at a time: more would only wait for the same disk, in the threads that also write the journal. */
export class BackgroundFlush {
  #running: Promise<void> | undefined
  #failure: { error: unknown } | undefined

  /**
   * Begins to flush what was written to the file, unless a flush is running. Throws the error of an earlier flush: the kernel reports an error
   * of the disk once, so the flush before publishing would not see it.
   */
  begin(file: FileHandle): void {
    this.#throwFailure()
    this.#running ??= file
      .datasync()
      .catch((error: unknown) => {
        this.#failure = { error }
      })
      .finally(() => {
        this.#running = undefined
      })
  }

  /** Resolves when no flush is running. Throws the error of a flush. */
  async end(): Promise<void> {
    await this.#running
    this.#throwFailure()
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.error
  }
}
