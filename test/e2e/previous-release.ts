// Builds the version of Lodestone before this one, from the commit that the file `previous-release` names.
import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { builtFolder } from './built-folder.ts'
import { runCommand } from './processes.ts'

const run = promisify(execFile)
const repository = join(import.meta.dirname, '..', '..')
const buildTimeoutMs = 5 * 60_000

/** Writes the chart of that version into a folder, and returns its path. Throws as `previousRelease`. */
export async function previousChart(into: string): Promise<string> {
  await extract(await previousCommit(), into, ['charts/lodestone'])
  return join(into, 'charts', 'lodestone')
}

/** Returns the main file of the build. Throws if the repository does not have the commit, as a shallow clone. */
export async function previousRelease(): Promise<string> {
  const commit = await previousCommit()
  // Below node_modules, Node.js and tsc find the packages of this version; both versions use the same ones.
  const cache = join(repository, 'node_modules', '.cache', 'lodestone')
  const folder = join(cache, `previous-release-${commit}`)
  await builtFolder(folder, { lock: cache, timeoutMs: buildTimeoutMs, build: (into) => buildCommit(commit, into) })
  return join(folder, 'dist', 'main.js')
}

async function previousCommit(): Promise<string> {
  return (await readFile(join(import.meta.dirname, 'previous-release'), 'utf8')).trim()
}

async function extract(commit: string, into: string, paths: readonly string[]): Promise<void> {
  const archive = join(into, 'source.tar')
  await run('git', ['archive', '--output', archive, commit, ...paths], { cwd: repository })
  await run('tar', ['-xf', archive, '-C', into])
}

async function buildCommit(commit: string, into: string): Promise<void> {
  await extract(commit, into, ['src', 'package.json', 'tsconfig.json'])
  const tsc = join(repository, 'node_modules', 'typescript', 'bin', 'tsc')
  const { code, stdout, stderr } = await runCommand(process.execPath, [tsc, '-p', 'tsconfig.json'], {
    cwd: into,
    env: process.env as Record<string, string>,
    timeoutMs: buildTimeoutMs,
  })
  if (code !== 0) throw new Error(`the previous release was not built: ${stdout}${stderr}`)
}
