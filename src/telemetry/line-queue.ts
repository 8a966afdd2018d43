/** Collects log lines for a moment and formats many at once, when no response waits. */
import type { LogFn, Logger } from 'pino'

export interface LineQueue {
  /** Collects a line, as `hooks.logMethod` of pino. Logged objects must not change afterwards. */
  logMethod(this: Logger, args: Parameters<LogFn>, method: LogFn): void
  /** The time at which the current line was logged, in ms since the epoch. */
  now(): number
  /** Formats the waiting lines, in order. */
  flush(): void
}

/** The longest time that a line waits, in ms. */
const WAIT_MS = 100
/** The number of lines that are formatted in the next iteration of the event loop. */
const BATCH = 128
/** The number of lines that are formatted immediately. */
const MOST = 1024

interface WaitingLine {
  logger: Logger
  method: LogFn
  args: Parameters<LogFn>
  at: number
}

/**
 * Opens a queue. A line costs less in a batch, since formatting evicts the code of reviews from the processor caches
 * (docs/dev/adr/platform/0023-effect-of-each-optimization.md).
 *
 * @param made called when the waiting lines have been formatted
 */
export function openLineQueue(made: () => void): LineQueue {
  let waiting: WaitingLine[] = []
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
        // An error of the formatter must neither end the process nor lose the other lines.
        method.apply(logger, [{ reason: String(error) }, 'cannot format a log line'])
      }
    }
    made()
  }

  return {
    logMethod(args, method) {
      const count = waiting.push({ logger: this, method, args, at: Date.now() })
      if (count >= MOST) flush()
      // Deferred, because a response may wait for the caller.
      else if (count === BATCH) setImmediate(flush)
      else timer ??= setTimeout(flush, WAIT_MS).unref()
    },
    now: () => at,
    flush,
  }
}
