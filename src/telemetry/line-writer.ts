/** Writes log lines to a file descriptor, many at once and never in anybody's way. */
import { write } from 'node:fs'

export interface LineWriter {
  write(line: string): void
  /** Resolves when everything written so far is out, or lost because the descriptor is broken. */
  flush(): Promise<void>
}

/** A line waits for company at most this long, in ms. */
const WAIT_MS = 100
const BATCH_CHARACTERS = 64 * 1024
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
  let timer: NodeJS.Timeout | undefined

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

  function start(): void {
    clearTimeout(timer)
    timer = undefined
    if (writing || pending === '') return
    const text = dropped === 0 ? pending : `${pending}{"level":"warn","dropped":${dropped},"msg":"log lines dropped"}\n`
    pending = ''
    dropped = 0
    writing = writeAll(Buffer.from(text)).then(() => {
      writing = undefined
      if (pending.length >= BATCH_CHARACTERS) start()
    })
  }

  return {
    write(line) {
      if (pending.length + line.length > MAX_PENDING_CHARACTERS) {
        dropped++
        return
      }
      pending += line
      if (pending.length >= BATCH_CHARACTERS) start()
      else timer ??= setTimeout(start, WAIT_MS).unref()
    },
    async flush() {
      while (writing || pending !== '') {
        start()
        await writing
      }
    },
  }
}
