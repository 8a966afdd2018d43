/** Entry point: runs the command line and sets the exit status. No other module ends the process. */
import { setFlagsFromString } from 'node:v8'
import { runCli } from './cli/index.ts'
import { limitHeap } from './cli/serve/heap-limit.ts'

// The caches would train V8 to allocate the short-lived objects of reviews in the old generation (docs/adr/0014).
setFlagsFromString('--no-allocation-site-pretenuring')

const LINGER_MS = 500

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second signal ends the process immediately.
    if (ending.signal.aborted) process.exit(130)
    ending.abort()
  })
}

// The reader of a pipeline may end first, as `head` does. Without a listener, Node.js prints a stack.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') process.stderr.write(`lodestone: standard output: ${error.message}\n`)
  process.exit(1)
})

try {
  if (process.argv[2] === 'serve') limitHeap()
  process.exitCode = await runCli(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: ending.signal,
    now: Date.now,
  })
  // An open request, such as one to an API server that hangs, must not keep an ended command alive.
  setTimeout(() => process.exit(), LINGER_MS).unref()
} catch (error) {
  process.stderr.write(
    `lodestone: ${error instanceof Error ? (process.env['LODESTONE_DEBUG'] ? error.stack : error.message) : error}\n`,
  )
  process.exit(1)
}
