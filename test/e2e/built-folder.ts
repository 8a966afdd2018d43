// Builds a folder of the cache once: beside its final place, and renamed when complete, so a folder that is there is always whole.
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { withBuildLock } from './build-lock.ts'

/** What the tests build or download once, for all test runs of this user. */
export const cacheFolder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'lodestone-e2e')

export interface FolderBuild {
  /** Builds that may not run at once have the same lock. */
  lock: string
  timeoutMs: number
  /** Called before the wait for the lock, if there is something to build. */
  require?: () => Promise<void>
  build: (into: string) => Promise<void>
}

/** Returns the folder after `build` has filled it, now or earlier. Throws what `build` throws; then there is no folder. */
export async function builtFolder(folder: string, { lock, timeoutMs, require, build }: FolderBuild): Promise<string> {
  if (await exists(folder)) return folder
  await require?.()
  const home = dirname(folder)
  const prefix = `.${basename(folder)}-`
  await mkdir(home, { recursive: true })
  await withBuildLock(lock, timeoutMs, async (isAlone) => {
    // Another test file has built it meanwhile.
    if (await exists(folder)) return
    // A build that was killed could not delete its own.
    if (isAlone) await removeAll(home, prefix)
    const building = await mkdtemp(join(home, prefix))
    try {
      await build(building)
      await renameUnlessThere(building, folder)
    } finally {
      await rm(building, { recursive: true, force: true })
    }
  })
  return folder
}

async function removeAll(folder: string, prefix: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (name.startsWith(prefix)) await rm(join(folder, name), { recursive: true, force: true })
  }
}

async function renameUnlessThere(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    // Another run was faster: its folder is as good as ours.
    if (!(await exists(to))) throw error
  }
}

export async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  )
}
