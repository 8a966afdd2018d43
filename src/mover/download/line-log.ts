/** Appends lines to a file in the background, in order. */
import { open } from 'node:fs/promises'
import { isDiskFull } from '../mover-error.ts'

export interface LineLog {
  /** Appends a line. Throws the error of an earlier write that failed. */
  append(line: string): void
  /** Resolves when all lines are in the file. Throws the error of a failed write. */
  close(): Promise<void>
}

/** Opens a log that loses its lines while the disk is full. Its reader can do without them. */
export async function openLossyLog(path: string, flags: 'a' | 'w'): Promise<LineLog> {
  const unlessFull = (error: unknown) => {
    if (!isDiskFull(error)) throw error
  }
  const log = await openLineLog(path, flags).catch(unlessFull)
  return {
    append(line) {
      try {
        log?.append(line)
      } catch (error) {
        unlessFull(error)
      }
    },
    close: async () => log?.close().catch(unlessFull),
  }
}

/** @param flags `a` to continue the file, `w` to begin a new one. */
export async function openLineLog(path: string, flags: 'a' | 'w'): Promise<LineLog> {
  const file = await open(path, flags)
  // The last line of a killed mover may be incomplete, so the next line begins on a new one.
  let pending = flags === 'a' ? '\n' : ''
  let writing: Promise<void> | undefined
  let failure: unknown

  async function write(): Promise<void> {
    try {
      while (pending !== '') {
        const text = pending
        pending = ''
        await file.appendFile(text)
      }
    } catch (error) {
      failure = error
    }
    writing = undefined
  }

  return {
    append(line) {
      if (failure !== undefined) throw failure
      pending += `${line}\n`
      writing ??= write()
    },
    async close() {
      writing ??= write()
      await writing
      await file.close()
      if (failure !== undefined) throw failure
    },
  }
}
