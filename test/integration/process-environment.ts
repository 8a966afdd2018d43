/** The environment of a process that a test starts: nothing of the caller but what a program needs. */

/** The cache of the test run (vitest.config.ts): TypeScript that did not change is not compiled again, which is a third of a start. */
export const COMPILED: Readonly<Record<string, string>> = {
  NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] ?? '',
}

export const PROCESS_ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: process.env['PATH'] ?? '',
  HOME: process.env['HOME'] ?? '',
  ...COMPILED,
}
