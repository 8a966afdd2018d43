/** The one logger: JSON lines for machines, colours for a person at a terminal. Objects of users are never logged, only their names. */
import { type Logger, pino } from 'pino'
import { prettyFactory } from 'pino-pretty'
import { openLineWriter } from './line-writer.ts'

export type { Logger } from 'pino'

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export interface LoggerOptions {
  level: LogLevel
  /** `auto` is pretty at a terminal and JSON elsewhere. */
  format: 'auto' | 'json' | 'pretty'
  /** Where lines go, and whether that is a terminal. A file descriptor makes it possible to write many lines at once. */
  output: { write(line: string): unknown; isTTY?: boolean; fd?: number }
}

/**
 * Opens a logger. Every line has level, time (RFC 3339), msg and the fields of its event.
 *
 * With a file descriptor, lines are gathered for up to a tenth of a second: `close` writes the rest.
 */
export function openLogger({ level, format, output }: LoggerOptions): { log: Logger; close(): Promise<void> } {
  const pretty = format === 'pretty' || (format === 'auto' && output.isTTY === true)
  const options = {
    level,
    base: null,
    timestamp: openClock(),
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err },
  }
  if (pretty) {
    const prettify = prettyFactory({
      colorize: output.isTTY === true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss.l',
    })
    return {
      log: pino(options, { write: (line: string) => void output.write(prettify(line)) }),
      close: async () => undefined,
    }
  }
  if (output.fd === undefined) {
    return { log: pino(options, { write: (line: string) => void output.write(line) }), close: async () => undefined }
  }
  const writer = openLineWriter(output.fd)
  return { log: pino(options, writer), close: () => writer.flush() }
}

/** The time as pino wants it. Many lines fall into one millisecond, and a date is dear to format. */
function openClock(): () => string {
  let last = 0
  let text = ''
  return () => {
    const now = Date.now()
    if (now !== last) {
      last = now
      text = `,"time":"${new Date(now).toISOString()}"`
    }
    return text
  }
}
