/** Counts the completed work of a mover. */

export interface Figures {
  totalBytes: number
  doneBytes: number
  totalFiles: number
  doneFiles: number
}

export class Progress {
  #figures: Figures = { totalBytes: 0, doneBytes: 0, totalFiles: 0, doneFiles: 0 }
  /** The bytes that this process transferred, over all rounds. */
  movedBytes = 0

  /** The work is known, or known anew. */
  begin(totalBytes: number, totalFiles: number): void {
    this.#figures = { totalBytes, totalFiles, doneBytes: 0, doneFiles: 0 }
  }

  moved(bytes: number): void {
    this.movedBytes += bytes
    this.#figures.doneBytes += bytes
  }

  /** Done by an earlier attempt, or taken back with a negative number. */
  adjust(bytes: number): void {
    this.#figures.doneBytes += bytes
  }

  fileDone(): void {
    this.#figures.doneFiles += 1
  }

  figures(): Figures {
    return { ...this.#figures }
  }
}
