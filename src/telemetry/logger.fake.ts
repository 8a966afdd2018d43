/** Loggers for tests. */
import type { LogLevel } from './log-levels.ts'
import { type Logger, openLogger } from './logger.ts'

export interface LogLine {
  level: string
  msg: string
  [field: string]: unknown
}

/** Returns a logger, and the list that receives its lines. */
export function recordLog(level: LogLevel = 'info'): { log: Logger; lines: LogLine[] } {
  const lines: LogLine[] = []
  const { log } = openLogger({ level, format: 'json', output: { write: (line) => lines.push(JSON.parse(line)) } })
  return { log, lines }
}

/** A logger that writes nothing. */
export const { log: silentLog } = openLogger({ level: 'silent', format: 'json', output: { write: () => undefined } })
