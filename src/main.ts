/** From the words on the command line to an exit status. The only place that ends the process. */
import { createHook } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runCli } from './cli/index.ts'
import { limitHeap } from './cli/serve/heap-limit.ts'

// What fills the caches lives for good; V8 would learn from it to make what a review makes live for good as well (docs/adr/0014).
setFlagsFromString('--no-allocation-site-pretenuring')
// A review goes through much code once; more of it may become one piece (docs/adr/0014).
setFlagsFromString('--max-inlined-bytecode-size-cumulative=2500')

// V8 forgets the shape of objects of which none is alive, and may have no room for it any more when the next one comes: of those that
// Node makes for every step of every request, one stays alive, as long as this module does (docs/adr/0014).
const ticks: object[] = []
const hook = createHook({ init: (_id, type, _trigger, resource) => type === 'TickObject' && ticks.push(resource) })
hook.enable()
process.nextTick(() => undefined)
hook.disable()

const LINGER_MS = 500

const ending = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second time the user means now.
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
  // What is still open then, such as a request to an API server that hangs, must not keep an ended command alive.
  setTimeout(() => process.exit(), LINGER_MS).unref()
} catch (error) {
  process.stderr.write(
    `lodestone: ${error instanceof Error ? (process.env['LODESTONE_DEBUG'] ? error.stack : error.message) : error}\n`,
  )
  process.exit(1)
}
