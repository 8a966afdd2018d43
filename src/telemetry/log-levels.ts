/** The levels of the log. They are apart from the logger, so that a configuration is read without it. */

export const LOG_LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const

export type LogLevel = (typeof LOG_LEVELS)[number]
