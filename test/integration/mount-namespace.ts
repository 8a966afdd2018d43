/** Runs movers in a mount namespace of their own, where a test can mount file systems. It needs no root rights. */
import { spawn, spawnSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readTerminationMessage } from '../../src/core/mover-contract/termination-message.ts'
import { KEYS } from './mover-run.ts'

const NAMESPACE = ['--user', '--map-root-user', '--mount', '--pid', '--fork', '--kill-child']

/** The command that runs a mover, without its verb. */
export const MOVER = [process.execPath, join(import.meta.dirname, '..', '..', 'src', 'main.ts'), 'mover']

/** Whether the machine allows such namespaces. A skipped test is in the output of vitest. */
export const hasNamespaces = spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', '/mnt']).status === 0

/** Runs a shell script in the folder, with the words of a command as its arguments. Throws its output if it fails. */
export async function runInNamespace(folder: string, script: string, command: string[], env = {}): Promise<void> {
  const child = spawn('unshare', [...NAMESPACE, 'sh', '-c', script, 'sh', ...command], {
    cwd: folder,
    env: { ...process.env, ...KEYS, ...env },
  })
  let said = ''
  child.stdout.on('data', (text) => (said += text))
  child.stderr.on('data', (text) => (said += text))
  const status = await new Promise<number | null>((resolve) => child.once('close', resolve))
  if (status !== 0) throw new Error(`status ${status}: ${said}`)
}

/** The result that a mover wrote to this file. */
export async function resultIn(folder: string, name: string) {
  return readTerminationMessage(await readFile(join(folder, name), 'utf8'))
}
