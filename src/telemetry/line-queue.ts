/** Puts log lines off for a moment, so that many are made at once: what nobody waits for is not done while somebody does. */
import type { LogFn, Logger } from 'pino'

export interface LineQueue {
  /** Takes what was said, as pino's `hooks.logMethod`. What is logged must not be changed afterwards. */
  logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void
  /** When the line that is being made was said, in ms since the epoch. */
  now(): number
  /** Makes the lines that wait, in the order in which they were said. */
  flush(): void
}

/** A line waits for company at most this long, in ms. */
const WAIT_MS = 100
/** So many are enough. */
const BATCH = 128
/** And so many too many, when whoever says them does not pause. */
const MOST = 1024

interface Said {
  logger: Logger
  method: LogFn
  args: Parameters<LogFn>
  at: number
}

/**
 * Opens a queue. A line that is made by itself costs more than one among others: by the time of the next review the processor's caches
 * have forgotten how lines are made (docs/adr/0011).
 *
 * @param made is called when the lines that waited have been made
 */
export function openLineQueue(made: () => void): LineQueue {
  let waiting: Said[] = []
  let timer: NodeJS.Timeout | undefined
  let at = 0

  function flush(): void {
    clearTimeout(timer)
    timer = undefined
    const lines = waiting
    waiting = []
    for (const { logger, method, args, at: said } of lines) {
      at = said
      try {
        method.apply(logger, args)
      } catch (error) {
        // A line that cannot be made must not end the process, nor take the other lines with it.
        method.apply(logger, [{ reason: String(error) }, 'a log line could not be made'])
      }
    }
    made()
  }

  return {
    logMethod(args, method) {
      const count = waiting.push({ logger: this, method, args, at: Date.now() })
      if (count >= MOST) flush()
      // Not at once: an answer may be waiting for the one who said it.
      else if (count === BATCH) setImmediate(flush)
      else timer ??= setTimeout(flush, WAIT_MS).unref()
    },
    now: () => at,
    flush,
  }
}
