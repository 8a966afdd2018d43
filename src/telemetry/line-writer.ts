/** Writes log lines to a file descriptor, many at once and never in anybody's way. */
import { write } from 'node:fs'

export interface LineWriter {
  /** Takes a line for the next `send`. */
  write(line: string): void
  /** Begins to write what was taken. */
  send(): void
  /** Resolves when everything written so far is out, or lost because the descriptor is broken. */
  flush(): Promise<void>
}

/** A reader that stalls (a full pipe) must not cost memory without end: beyond this, lines are dropped, and counted. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024

/**
 * One write is under way at a time; lines that come meanwhile are gathered. A system call per line would cost more than the
 * decision that the line tells of, and pino's own asynchronous destination twice as much as this (docs/performance.md).
 */
export function openLineWriter(fd: number): LineWriter {
  let pending = ''
  let dropped = 0
  let writing: Promise<void> | undefined

  function writeAll(text: Buffer): Promise<void> {
    return new Promise((resolve) => {
      write(fd, text, (error, written) => {
        if (error?.code === 'EAGAIN') setTimeout(() => resolve(writeAll(text)), 5)
        else if (!error && written < text.length) resolve(writeAll(text.subarray(written)))
        // Anything else means that nobody reads our log any more: there is nowhere left to say so.
        else resolve()
      })
    })
  }

  function send(): void {
    if (writing || pending === '') return
    const text = dropped === 0 ? pending : `${pending}{"level":"warn","dropped":${dropped},"msg":"log lines dropped"}\n`
    pending = ''
    dropped = 0
    writing = writeAll(Buffer.from(text)).then(() => {
      writing = undefined
      send()
    })
  }

  return {
    write(line) {
      if (pending.length + line.length > MAX_PENDING_CHARACTERS) {
        dropped++
        return
      }
      pending += line
    },
    send,
    async flush() {
      while (writing || pending !== '') {
        send()
        await writing
      }
    },
  }
}
