/** Counts the completed work of a mover. */

export interface ProgressCounts {
  totalBytes: number
  doneBytes: number
  totalFiles: number
  doneFiles: number
}

export class Progress {
  #counts: ProgressCounts = { totalBytes: 0, doneBytes: 0, totalFiles: 0, doneFiles: 0 }
  /** The bytes that this process transferred, over all rounds. */
  movedBytes = 0

  /** Sets the total work, and resets the completed work. */
  begin(totalBytes: number, totalFiles: number): void {
    this.#counts = { totalBytes, totalFiles, doneBytes: 0, doneFiles: 0 }
  }

  moved(bytes: number): void {
    this.movedBytes += bytes
    this.#counts.doneBytes += bytes
  }

  /** Adds bytes that this process did not transfer. A negative number subtracts bytes that must be done again. */
  adjust(bytes: number): void {
    this.#counts.doneBytes += bytes
  }

  fileDone(): void {
    this.#counts.doneFiles += 1
  }

  /** Counts a whole file that this process did not transfer; with negative numbers, a file that must be counted again. */
  countFile(bytes: number, files = 1): void {
    this.#counts.doneBytes += bytes
    this.#counts.doneFiles += files
  }

  counts(): ProgressCounts {
    return { ...this.#counts }
  }
}
