// Programs of Debian's packages, unpacked once into the cache folder. No root rights are needed.
import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { downloadDebian, OWN_ARCHITECTURE } from '../../.ci/release/base.ts'
import { run } from '../../.ci/release/run.ts'
import { builtFolder, cacheFolder } from './built-folder.ts'
import { makeTemporaryFolder } from './processes.ts'

const timeoutMs = 5 * 60_000

/**
 * Returns the folder with the files of the packages, and an environment in which their programs are on the PATH and find their libraries.
 * `complete` adds what the packages lack.
 */
export async function debianPrograms(
  name: string,
  packages: readonly string[],
  complete?: (folder: string) => Promise<void>,
): Promise<{ folder: string; env: Record<string, string> }> {
  const release = await readFile('/etc/os-release', 'utf8')
  const key = createHash('sha256')
    .update(JSON.stringify([packages, release, process.arch]))
    .digest('hex')
  const folder = await builtFolder(join(cacheFolder, key.slice(0, 16), name), {
    lock: join(cacheFolder, name),
    timeoutMs,
    build: async (into) => {
      const files = await downloadDebian([...packages], OWN_ARCHITECTURE, await makeTemporaryFolder())
      for (const file of files) await run('dpkg-deb', ['-x', file, into])
      await complete?.(into)
    },
  })
  const programs = ['usr/bin', 'usr/sbin'].map((part) => join(folder, part))
  const machine = process.arch === 'arm64' ? 'aarch64' : 'x86_64'
  const libraries = ['usr/lib', 'lib'].map((part) => join(folder, part, `${machine}-linux-gnu`))
  const env = { PATH: [...programs, process.env['PATH']].join(delimiter), LD_LIBRARY_PATH: libraries.join(delimiter) }
  return { folder, env }
}
