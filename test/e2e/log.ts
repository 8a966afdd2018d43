/** Writes a line about the progress of a test run, which a user may watch. */
export function logToStderr(line: string): void {
  process.stderr.write(`[e2e] ${line}\n`)
}
