/** Entry point: runs the command of the arguments and exits with its status. Only this file ends the process. */
import { createHook } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runCli } from './cli/index.ts'
import { limitHeap } from './cli/serve/heap-limit.ts'

// Long-lived objects of the caches would make V8 allocate objects of reviews in the old generation too (docs/adr/0014).
setFlagsFromString('--no-allocation-site-pretenuring')
// A review runs much code once: inlining more of it saves CPU (docs/adr/0014).
setFlagsFromString('--max-inlined-bytecode-size-cumulative=2500')

// V8 forgets the shape of objects of which none is alive, and its table of shapes may be full when the next one is created. Therefore one
// object of process.nextTick stays alive as long as this module (docs/adr/0014).
const ticks: object[] = []
const hook = createHook({ init: (_id, type, _trigger, resource) => type === 'TickObject' && ticks.push(resource) })
hook.enable()
process.nextTick(() => undefined)
hook.disable()

const LINGER_MS = 500

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // A second signal ends the process at once.
    if (ending.signal.aborted) process.exit(130)
    ending.abort()
  })
}

try {
  if (process.argv[2] === 'serve') limitHeap()
  process.exitCode = await runCli(process.argv.slice(2), {
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: ending.signal,
    now: Date.now,
  })
  // An open handle, such as a request to a slow API server, must not keep an ended command alive.
  setTimeout(() => process.exit(), LINGER_MS).unref()
} catch (error) {
  process.stderr.write(
    `lodestone: ${error instanceof Error ? (process.env['LODESTONE_DEBUG'] ? error.stack : error.message) : error}\n`,
  )
  process.exit(1)
}
