/** Opens a directory that must exist, below a root that other users write too: without a symbolic link in its path. */
import { constants } from 'node:fs'
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises'
import { isAbsolute, join, relative, resolve, sep } from 'node:path'
import { findRoot } from './download/staging.ts'
import { MoverError } from './mover-error.ts'

const FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW
/** Errors of a path that was replaced after it was looked at. */
const REPLACED = new Set(['ENOENT', 'ENOTDIR', 'ELOOP'])

/**
 * Opens the directory for reading. Throws a `MoverError`:
 * - `LinkInPath` if a part of its path below the root is a symbolic link;
 * - `NotFound` if it does not exist or is no directory;
 * - `Rejected` if it is neither the root nor below it.
 */
export async function openExisting(root: string, target: string): Promise<FileHandle> {
  const base = await findRoot(root)
  const below = relative(resolve(root), resolve(target))
  if (below === '..' || below.startsWith(`..${sep}`) || isAbsolute(below)) {
    throw new MoverError('Rejected', `the target ${target} is not in the root ${root}`)
  }
  let path = base
  for (const part of below === '' ? [] : below.split(sep)) {
    path = join(path, part)
    await requireDirectory(path, relative(base, path))
  }
  const directory = await open(path, FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (REPLACED.has(error.code ?? '')) throw linkError(below)
    throw error
  })
  // A pod may have replaced a part since it was looked at, so the path of the open directory decides.
  if ((await readlink(`/proc/self/fd/${directory.fd}`)) === path) return directory
  await directory.close()
  throw linkError(below)
}

async function requireDirectory(path: string, shown: string): Promise<void> {
  const stats = await lstat(path).catch((cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT') throw cause
    const message = `${shown} does not exist in the directory of the node; create it, or correct the option path`
    throw new MoverError('NotFound', message, { cause })
  })
  if (stats.isSymbolicLink()) throw linkError(shown)
  if (!stats.isDirectory()) throw new MoverError('NotFound', `${shown} is not a directory; correct the option path`)
}

function linkError(shown: string): MoverError {
  const message = `${shown} is a symbolic link, or was replaced by one; remove it, or name the real directory in the option path`
  return new MoverError('LinkInPath', message)
}
