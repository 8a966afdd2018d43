/** The one logger: JSON lines for machines, colours for a person at a terminal. Objects of users are never logged, only their names. */
import { type Logger, pino } from 'pino'
import { prettyFactory } from 'pino-pretty'

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

/** How long a line may wait for company. */
const FLUSH_MS = 100
const BATCH_BYTES = 8 * 1024

/**
 * Opens a logger. Every line has level, time (RFC 3339), msg and the fields of its event.
 *
 * A line per request is a system call per request, which costs more than the decision that it tells of; JSON lines are therefore
 * gathered for up to a tenth of a second. `closeLogger` writes the rest.
 */
export function openLogger({ level, format, output }: LoggerOptions): Logger {
  const pretty = format === 'pretty' || (format === 'auto' && output.isTTY === true)
  const options = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: pino.stdSerializers.err },
  }
  if (pretty) {
    const prettify = prettyFactory({
      colorize: output.isTTY === true,
      ignore: 'pid,hostname',
      translateTime: 'HH:MM:ss.l',
    })
    return pino(options, { write: (line: string) => void output.write(prettify(line)) })
  }
  if (output.fd === undefined) return pino(options, { write: (line: string) => void output.write(line) })
  return pino(
    options,
    pino.destination({ fd: output.fd, sync: false, minLength: BATCH_BYTES, periodicFlush: FLUSH_MS }),
  )
}

/** Writes what is still gathered; resolves when it is out. */
export function closeLogger(log: Logger): Promise<void> {
  return new Promise((resolve) => log.flush(() => resolve()))
}
