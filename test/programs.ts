/** Tests that need a program which not every machine has: without it, they say so and do not run. */
import { spawnSync } from 'node:child_process'
import { test } from 'vitest'

/** Returns `test` for a machine that has the programs, and a `test` that is skipped, with a line on standard error, for another one. */
export function testWith(...programs: string[]): typeof test {
  const missing = programs.filter((program) => spawnSync(program, ['--version']).error)
  if (missing.length === 0) return test
  process.stderr.write(`[test] skipped: tests that need ${missing.join(' and ')}; install it to run them\n`)
  return test.runIf(false) as typeof test
}
