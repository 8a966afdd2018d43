/** Opens files for an upload: regular files below a folder only, whatever pods put in their place meanwhile. */
import { constants } from 'node:fs'
import { type FileHandle, open, readlink } from 'node:fs/promises'
import { join } from 'node:path'

/** A FIFO without a writer would block an open for ever. */
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
/** It is gone, a symbolic link, or a socket now. */
const REPLACED = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENXIO'])

/** Opens a file. Undefined when it is no regular file below the folder any more. */
export async function openBelow(folder: string, path: string): Promise<FileHandle | undefined> {
  const file = await open(join(folder, path), FLAGS).catch((error: NodeJS.ErrnoException) => {
    if (REPLACED.has(error.code ?? '')) return undefined
    throw error
  })
  if (file === undefined) return undefined
  // A pod may replace a folder by a link between the look and the opening: the file that is open is the one that counts.
  const real = await readlink(`/proc/self/fd/${file.fd}`)
  if (real.startsWith(`${folder}/`) && (await file.stat()).isFile()) return file
  await file.close()
  return undefined
}
