/** Creates a folder and its parents, without the endless loop of Node.js. */
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Creates `path` and each missing folder above it. Throws the error of the file system.
 *
 * The recursive `mkdir` of Node.js does not return below folders such as `/proc`, which exist but in which nothing can be created.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  if (await makeOne(path, mode)) return
  await makeFolder(dirname(path), mode)
  if (!(await makeOne(path, mode))) throw new Error(`cannot create the folder ${path}; choose another one`)
}

/** Returns false if the folder above is missing, or if nothing can be created in it. */
async function makeOne(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode })
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return true
    if (code === 'ENOENT' && dirname(path) !== path) return false
    throw error
  }
}
