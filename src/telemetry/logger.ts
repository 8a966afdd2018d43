/** The logger: JSON lines, or colors at a terminal. Objects of users are never logged, only their names. */
import { createRequire } from 'node:module'
import { type Logger, pino } from 'pino'
import type * as PinoPretty from 'pino-pretty'
import { escapeControls } from '../base/printable.ts'
import { openLineQueue } from './line-queue.ts'
import { openLineWriter } from './line-writer.ts'
import type { LogLevel } from './log-levels.ts'

export type { Logger } from 'pino'

export interface LoggerOptions {
  level: LogLevel
  /** `auto` is pretty at a terminal and JSON elsewhere. */
  format: 'auto' | 'json' | 'pretty'
  /** The output, and whether it is a terminal. With a file descriptor lines are written in batches. */
  output: { write(line: string): unknown; isTTY?: boolean; fd?: number }
  /** Whether pretty lines have colors; default: at a terminal. */
  colorize?: boolean
  /** Is called once when a file descriptor has no reader any more. Without it, further lines are lost. */
  onClosed?: () => void
}

/**
 * Opens a logger. Every line has level, time (RFC 3339), msg and the fields of its event.
 *
 * With a file descriptor, lines are formatted and written in batches, up to 100 ms later. `close` writes the rest.
 */
export function openLogger({ level, format, output, colorize = output.isTTY === true, onClosed }: LoggerOptions): {
  log: Logger
  close(): Promise<void>
} {
  const pretty = format === 'pretty' || (format === 'auto' && output.isTTY === true)
  const options = {
    level,
    base: null,
    timestamp: openClock(Date.now),
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err },
  }
  if (pretty) {
    // Loaded only here, because it needs 20 ms of CPU time and 2 MiB of each mover, which logs JSON.
    const { prettyFactory } = createRequire(import.meta.url)('pino-pretty') as typeof PinoPretty
    const prettify = prettyFactory({
      colorize,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss.l',
    })
    return {
      log: pino(options, { write: (line: string) => void output.write(escapeControls(prettify(line))) }),
      close: async () => undefined,
    }
  }
  if (output.fd === undefined) {
    const write = (line: string) => void output.write(escapeControls(line))
    return { log: pino(options, { write }), close: async () => undefined }
  }
  const writer = openLineWriter(output.fd, onClosed)
  const queue = openLineQueue(writer.send)
  const batched = { ...options, timestamp: openClock(queue.now), hooks: { logMethod: queue.logMethod } }
  return {
    log: pino(batched, { write: (line: string) => writer.write(escapeControls(line)) }),
    close() {
      queue.flush()
      return writer.flush()
    },
  }
}

/** The time in pino's format. Formatting a date is expensive, and many lines have the same millisecond. */
function openClock(now: () => number): () => string {
  let last = 0
  let text = ''
  return () => {
    const time = now()
    if (time !== last) {
      last = time
      text = `,"time":"${new Date(time).toISOString()}"`
    }
    return text
  }
}
