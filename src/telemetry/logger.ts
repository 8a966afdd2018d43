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
  /** Where lines go, and whether that is a terminal. */
  output: { write(line: string): unknown; isTTY?: boolean }
}

/** Opens a logger. Every line has level, time (RFC 3339), msg and the fields of its event. */
export function openLogger({ level, format, output }: LoggerOptions): Logger {
  const pretty = format === 'pretty' || (format === 'auto' && output.isTTY === true)
  const prettify = pretty
    ? prettyFactory({ colorize: output.isTTY === true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' })
    : undefined
  return pino(
    {
      level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: pino.stdSerializers.err },
    },
    { write: (line: string) => void output.write(prettify ? prettify(line) : line) },
  )
}
