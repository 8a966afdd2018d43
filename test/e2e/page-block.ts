/** Runs a shell block of a page against a control plane, in one shell, with kubectl and the command of the sources. */
import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { type BlockName, findBlock } from '../shell-blocks.ts'
import { ensureKubernetesBinaries } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { lodestoneCommand } from './mover-kubelet.ts'
import { runCommand } from './processes.ts'

/**
 * Returns what the block prints. `replaced` has the texts that differ in a test, such as a name.
 *
 * @throws if a command fails
 */
export async function runBlock(
  plane: ControlPlane,
  name: BlockName,
  replaced: Record<string, string> = {},
): Promise<string> {
  return runScript(plane, findBlock(name).commands.join('\n'), replaced)
}

/** Runs a command of a block, in the same way. */
export async function runScript(
  plane: ControlPlane,
  written: string,
  replaced: Record<string, string> = {},
): Promise<string> {
  let script = written
  for (const [from, to] of Object.entries(replaced)) script = script.replaceAll(from, to)
  const path = [await programs(plane), dirname(process.execPath), process.env['PATH']]
  const env = { PATH: path.join(delimiter), HOME: plane.dir, KUBECONFIG: plane.kubeconfig }
  const { code, stdout, stderr } = await runCommand('bash', ['-ec', `set -o pipefail\n${script}`], {
    cwd: plane.dir,
    env,
  })
  if (code !== 0) throw new Error(`${script}\nended with ${code}: ${stderr}${stdout}`)
  return stdout
}

/** The folder with the programs that pages use. */
async function programs(plane: ControlPlane): Promise<string> {
  const folder = join(plane.dir, 'programs-of-pages')
  if ((await mkdir(folder, { recursive: true })) === undefined) return folder
  await symlink((await ensureKubernetesBinaries()).kubectl, join(folder, 'kubectl'))
  const words = lodestoneCommand.map((word) => `'${word}'`).join(' ')
  await writeFile(join(folder, 'lodestone'), `#!/bin/sh\nexec ${words} "$@"\n`, { mode: 0o755 })
  return folder
}
