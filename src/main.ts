/** From the words on the command line to an exit status. The only place that ends the process. */
import { setFlagsFromString } from 'node:v8'
import { runCli } from './cli/index.ts'

// What fills the caches lives for good; V8 would learn from it to make what a review makes live for good as well (docs/adr/0014).
setFlagsFromString('--no-allocation-site-pretenuring')

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second time the user means now.
    if (ending.signal.aborted) process.exit(130)
    ending.abort()
  })
}

try {
  process.exitCode = await runCli(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: ending.signal,
    now: Date.now,
  })
} catch (error) {
  process.stderr.write(
    `lodestone: ${error instanceof Error ? (process.env['LODESTONE_DEBUG'] ? error.stack : error.message) : error}\n`,
  )
  process.exit(1)
}
