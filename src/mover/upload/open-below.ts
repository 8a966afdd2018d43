/** Opens files for an upload. It opens only regular files below a folder, even if a pod replaces them meanwhile. */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** Without O_NONBLOCK, a FIFO without a writer would block the open forever. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
/** Errors of a path that is missing, a symbolic link, or a socket. */
const REPLACED = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'])

/** Opens a file; undefined when it is not a regular file below the folder any more. */
export async function openBelow(folder: string, path: string): Promise<FileHandle | undefined> {
  const file = await open(join(folder, path), FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (REPLACED.has(error.code ?? '')) return undefined
    throw error
  })
  if (file === undefined) return undefined
  // A pod may replace a folder by a link just before the file is opened, so the path of the open file is checked.
  const real = await readlink(`/proc/self/fd/${file.fd}`)
  if (real.startsWith(`${folder}/`) && (await file.stat()).isFile()) return file
  await file.close()
  return undefined
}
