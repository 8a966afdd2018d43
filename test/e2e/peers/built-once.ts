// Builds or downloads the program of a peer once, into the cache folder that the programs of the control plane are in.
import { createHash } from 'node:crypto'
import { copyFile, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { builtFolder, cacheFolder } from '../built-folder.ts'
import { logToStderr } from '../log.ts'
import { runCommand } from '../processes.ts'
import { environment, MissingRuntimeError, type Runtime, requireRuntime } from './runtimes.ts'

// Downloads and a cold compiler cache included.
const buildTimeoutMs = 20 * 60_000

export interface Recipe {
  // Also the folder beside this file whose files say what is built: every byte of them is in the key.
  peer: string
  what: string
  runtime: Runtime
  // Files of that folder that the program reads where it writes.
  copied?: readonly string[]
  args: (into: string) => string[]
}

export async function builtOnce({ peer, what, runtime, copied = [], args }: Recipe): Promise<string> {
  const sources = join(import.meta.dirname, peer)
  return builtFolder(join(cacheFolder, await keyOf(sources, args('')), peer), {
    lock: join(cacheFolder, 'peers'),
    timeoutMs: buildTimeoutMs,
    require: () => requireRuntime(peer, runtime),
    async build(into) {
      const startedAt = Date.now()
      logToStderr(`${peer}: building ${what} with ${runtime}, once`)
      for (const file of copied) await copyFile(join(sources, file), join(into, file))
      await run(peer, runtime, args(into), sources)
      logToStderr(`${peer}: built in ${Math.round((Date.now() - startedAt) / 1000)} s`)
    },
  })
}

async function keyOf(sources: string, args: string[]): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([args, process.platform, process.arch]))
  for (const file of (await readdir(sources)).sort()) hash.update(file).update(await readFile(join(sources, file)))
  return hash.digest('hex').slice(0, 16)
}

async function run(peer: string, program: Runtime, args: string[], cwd: string): Promise<void> {
  const result = await runCommand(program, args, { cwd, env: environment(), timeoutMs: buildTimeoutMs })
  if (result.code === 0) return
  // Maven complains on its standard output, Go on the other one.
  const said = `${result.stdout}${result.stderr}`
  if (said.includes('No compiler is provided')) throw new MissingRuntimeError(peer, program, 'runs without a compiler')
  throw new Error(`${peer}: ${program} ended with ${result.code}: ${said.slice(-4000)}`)
}
