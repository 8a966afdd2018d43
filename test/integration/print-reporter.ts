/**
 * Preloaded into a command by tests: reports on file descriptor 3. The first line says that the command prints, the last line how many bytes
 * it printed to standard output and standard error.
 */
import fs, { writeSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

const REPORTS = 3
let printed = 0
let hasReported = false

function reportStart(): void {
  if (!hasReported) writeSync(REPORTS, 'prints\n')
  hasReported = true
}

for (const stream of [process.stdout, process.stderr]) {
  const write = stream.write.bind(stream) as (text: string | Uint8Array, ...others: unknown[]) => boolean
  stream.write = (text: string | Uint8Array, ...others: unknown[]) => {
    if (text.length > 0) reportStart()
    printed += Buffer.byteLength(text)
    return write(text, ...others)
  }
}

// Log lines are written to the file descriptor, and again when the pipe was full (src/telemetry/line-writer.ts).
const { write } = fs
const reportingWrite = (fd: number, bytes: Uint8Array, done: (error: Error | null, written: number) => void) => {
  if (fd !== 1 && fd !== 2) return write(fd, bytes, done)
  reportStart()
  write(fd, bytes, (error, written) => {
    printed += written
    done(error, written)
  })
}
Object.assign(fs, { write: reportingWrite })
syncBuiltinESMExports()

process.on('exit', () => writeSync(REPORTS, `${printed}\n`))
