/** Runs `lodestone mover` for tests: in this process as the command line does, or as a process of its own that can be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { lstat, readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { runCli } from '../../src/cli/index.ts'
import type { MoverResult } from '../../src/core/mover-contract/contract.ts'
import { readTerminationMessage } from '../../src/core/mover-contract/termination-message.ts'
import { COMPILED } from './process-environment.ts'

const MAIN = join(import.meta.dirname, '..', '..', 'src', 'main.ts')

export const KEYS = { AWS_ACCESS_KEY_ID: 'ACCESS-KEY', AWS_SECRET_ACCESS_KEY: 'VERY-SECRET-KEY' }

/** A root with nothing in it, gone when the test ends. */
export function makeRoot(): string {
  const root = mkdtempSync(join(tmpdir(), 'lodestone-mover-'))
  onTestFinished(() => rmSync(root, { recursive: true, force: true }))
  return root
}

export interface MoverAnswer {
  status: number
  /** Both outputs together. */
  said: string
  result: MoverResult
}

/** Words that every test needs: the root, the target in it, little to keep free, and where the result goes. */
function moverWords(root: string, words: string[]): string[] {
  const [verb = '', ...rest] = words
  const local = ['--local-network', '127.0.0.0/8', '--local-network', '::1']
  const fixed = ['--root', root, '--keep-free', '0', '--termination-log', join(root, 'termination'), ...local]
  return ['mover', verb, ...fixed, ...(verb === 'upload' ? [] : ['--target', join(root, 'data')]), ...rest]
}

export async function runMover(
  root: string,
  words: string[],
  { env = KEYS, signal = new AbortController().signal }: { env?: Record<string, string>; signal?: AbortSignal } = {},
): Promise<MoverAnswer> {
  let said = ''
  const output = { write: (text: string) => (said += text) }
  const status = await runCli(moverWords(root, words), { stdout: output, stderr: output, env, signal, now: Date.now })
  return { status, said, result: readResult(root) }
}

/** Starts a mover as a process; the caller sends the signals. */
export function startMover(
  root: string,
  words: string[],
  env: Record<string, string> = KEYS,
  umask = '022',
): ChildProcess & { ended: Promise<number | null> } {
  const command = [process.execPath, MAIN, ...moverWords(root, words)]
  const child = spawn('sh', ['-c', `umask ${umask}; exec "$@"`, 'sh', ...command], {
    env: { ...COMPILED, ...env },
    stdio: 'ignore',
  })
  const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)))
  onTestFinished(() => void child.kill('SIGKILL'))
  return Object.assign(child, { ended })
}

/** How far the mover said it was, last of all. */
export function lastProgress(said: string): { doneBytes: number; totalBytes: number } {
  const lines = said.split('\n').filter((line) => line.includes('"doneBytes"'))
  const { doneBytes, totalBytes } = JSON.parse(lines.at(-1) ?? '{}')
  return { doneBytes, totalBytes }
}

export function readResult(root: string): MoverResult {
  let text = ''
  try {
    text = readFileSync(join(root, 'termination'), 'utf8')
  } catch {
    // The words were wrong: nothing began.
    return undefined as never
  }
  return readTerminationMessage(text) as MoverResult
}

/** Every file below a folder with its content; folders with nothing in them have a slash at their end. */
export async function readTree(folder: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {}
  const walk = async (below: string): Promise<void> => {
    const names = await readdir(join(folder, below))
    if (names.length === 0 && below !== '') tree[`${below}/`] = ''
    for (const name of names) {
      const path = below === '' ? name : `${below}/${name}`
      const stats = await lstat(join(folder, path))
      if (stats.isDirectory()) await walk(path)
      else if (stats.isSymbolicLink()) tree[path] = '(link)'
      else tree[path] = await readFile(join(folder, path), 'latin1')
    }
  }
  await walk('')
  return tree
}
