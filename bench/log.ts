/** Progress goes to stderr: stdout is the report. */
export function log(message: string): void {
  process.stderr.write(`[bench] ${message}\n`)
}
