/** Appends lines to a file in the background, in order, and reads them. */
import { createReadStream } from 'node:fs'
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

/**
 * Ends the last line of an earlier mover that was killed, or whose disk was full. That line may be incomplete, and a part of a line may look
 * like another one. No line of a log ends with this text.
 */
const CUT = '~\n'

/** @param flags `a` to continue the file, `w` to begin a new one. */
export async function openLineLog(path: string, flags: 'a' | 'w'): Promise<LineLog> {
  const file = await open(path, flags)
  let pending = flags === 'a' ? CUT : ''
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

/**
 * Yields the lines of a file, of which it keeps one part in memory. Only a line feed ends a line. `readLines` of Node.js also ends one at
 * U+2028 and U+2029, which JSON does not escape and names of files may have.
 */
export async function* readLines(path: string): AsyncGenerator<string> {
  let begun = ''
  for await (const part of createReadStream(path, 'utf8') as AsyncIterable<string>) {
    const lines = `${begun}${part}`.split('\n')
    begun = lines.pop() ?? ''
    for (const line of lines) yield line
  }
  if (begun !== '') yield begun
}
