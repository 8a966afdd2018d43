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

  /** The work is known, or known anew. */
  begin(totalBytes: number, totalFiles: number): void {
    this.#counts = { totalBytes, totalFiles, doneBytes: 0, doneFiles: 0 }
  }

  moved(bytes: number): void {
    this.movedBytes += bytes
    this.#counts.doneBytes += bytes
  }

  /** Done by an earlier attempt, or taken back with a negative number. */
  adjust(bytes: number): void {
    this.#counts.doneBytes += bytes
  }

  fileDone(): void {
    this.#counts.doneFiles += 1
  }

  counts(): ProgressCounts {
    return { ...this.#counts }
  }
}
