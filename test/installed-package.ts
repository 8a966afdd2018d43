/** Packs the project and installs the package below a prefix, as `npm install --global` does. */
import { execFile } from 'node:child_process'
import { globSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { chmod } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/**
 * Installs the commands into `prefix/bin`. The dependencies are a link to those of the clone, because npm would fetch them from a registry.
 *
 * @returns the folder of the package
 */
export async function installPackage(prefix: string): Promise<string> {
  await run('npm', ['pack', '--pack-destination', prefix], { maxBuffer: 2 ** 20 })
  const folder = join(prefix, 'lib', 'lodestone')
  mkdirSync(folder, { recursive: true })
  mkdirSync(join(prefix, 'bin'))
  const archive = globSync(join(prefix, 'lodestone-*.tgz'))[0] ?? ''
  await run('tar', ['-xzf', archive, '-C', folder, '--strip-components=1'])
  const { bin } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { bin: Record<string, string> }
  for (const [name, file] of Object.entries(bin)) {
    await chmod(join(folder, file), 0o755)
    symlinkSync(join(folder, file), join(prefix, 'bin', name))
  }
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'))
  return folder
}
