/** Writes log lines to a file descriptor, many at once, without blocking. */
import { write } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'

export interface LineWriter {
  /** Adds a line to the next `send`. */
  write(line: string): void
  /** Starts to write the added lines. */
  send(): void
  /** Resolves when all lines are written, or lost because the descriptor is broken or its reader takes nothing. */
  flush(): Promise<void>
}

/** The most characters in memory. When the reader of a pipe stalls, further lines are dropped and counted. */
const MAX_PENDING_CHARACTERS = 4 * 1024 * 1024
/** A reader that takes nothing for so long, such as a paused terminal, does not keep the process from its end. */
const STALL_MS = 1000

/**
 * Opens a writer. One write runs at a time, and lines that arrive meanwhile wait. A system call for each line would cost more than the
 * decision that the line reports. `onClosed` is called once when a pipe has no reader any more.
 */
export function openLineWriter(fd: number, onClosed?: () => void): LineWriter {
  let isClosed = false
  let pending = ''
  let dropped = 0
  let writtenBytes = 0
  let writing: Promise<void> | undefined

  function reportClosed(): void {
    if (!isClosed) onClosed?.()
    isClosed = true
  }

  function writeAll(text: Buffer): Promise<void> {
    return new Promise((resolve) => {
      write(fd, text, (error, written) => {
        if (!error) writtenBytes += written
        if (error?.code === 'EAGAIN') setTimeout(() => resolve(writeAll(text)), 5)
        else if (!error && written < text.length) resolve(writeAll(text.subarray(written)))
        else {
          // Any other error means that the log cannot be written. It cannot be reported either.
          if (error?.code === 'EPIPE') reportClosed()
          resolve()
        }
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
        const before = writtenBytes
        const hasStalled = await Promise.race([writing, wait(STALL_MS, true, { ref: false })])
        if (hasStalled === true && writtenBytes === before) return
      }
    },
  }
}
