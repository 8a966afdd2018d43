/** Entry point: runs the command line and sets the exit status. */
import { setFlagsFromString } from 'node:v8'
import { cacheCompiledCode } from './cli/cache-directory.ts'
import { endProcess } from './cli/end-process.ts'
import { runCli } from './cli/index.ts'
import { limitHeap } from './cli/serve/heap-limit.ts'

// The caches would train V8 to allocate the short-lived objects of reviews in the old generation (docs/dev/adr/platform/0014).
setFlagsFromString('--no-allocation-site-pretenuring')
cacheCompiledCode(process.env)

const LINGER_MS = 500

const ending = new AbortController()
let hasEnded = false
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The terminal or its connection is gone. The shell and the kernel both say so.
    if (signal === 'SIGHUP' && !hasEnded) return ending.abort()
    // The second signal ends the process immediately. So does the first one if only the reader of the output is waited for.
    if (ending.signal.aborted || hasEnded) process.exit(130)
    ending.abort()
  })
}

const words = process.argv.slice(2)

/** The errors of a pipe without a reader, and of a terminal that is gone. */
const NO_READER = ['EPIPE', 'EIO']

/** Ends the process when the reader of a pipeline ends first, as `head` does. Without a listener, Node.js prints a stack. */
function endWith(stream: NodeJS.WriteStream, name: string): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    const isUnread = NO_READER.includes(error.code ?? '')
    // A server ends in order: callers are answered, and the Lease is released.
    if (isUnread && words[0] === 'serve') return ending.abort()
    if (!isUnread && stream === process.stderr) return endUnreported()
    if (!isUnread) process.stderr.write(`lodestone: ${name}: ${error.message}\n`)
    void endProcess(1)
  })
}

/** Standard error cannot be written, for instance on a full disk. To report that there would fail again, in an endless loop. */
function endUnreported(): void {
  // A server loses its log, and answers.
  if (words[0] !== 'serve') void endProcess(1)
}
endWith(process.stdout, 'standard output')
endWith(process.stderr, 'standard error')

// npm starts a script in the folder of package.json, but relative paths are relative to the directory of the caller.
const { npm_lifecycle_event: script = '', npm_package_name: ofPackage, INIT_CWD: callerDirectory } = process.env
if (ofPackage === 'lodestone' && ['lodestone', 'start'].includes(script) && callerDirectory)
  process.chdir(callerDirectory)

try {
  if (words[0] === 'serve') limitHeap()
  process.exitCode = await runCli(words, {
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
  process.exitCode = 1
}
hasEnded = true
// An open request, such as one to an API server that hangs, must not keep an ended command alive. A slow reader does.
setTimeout(endProcess, LINGER_MS).unref()
