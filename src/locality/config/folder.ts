/** Reads a folder of configurations as a mounted ConfigMap is one: a file for each key, whatever its name, links among them. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'

/** Far more than a configuration needs; a ConfigMap as a whole may have no more. */
const MAX_FILE_BYTES = 1024 * 1024

export type FolderFile = { file: string; text: string } | { file: string; problem: string }

/**
 * Every file of a folder, by name; hidden ones, such as the `..data` of a mount, are not part of it.
 * Throws when the folder itself cannot be read: nothing may be concluded from that.
 */
export async function readConfigFolder(directory: string): Promise<FolderFile[]> {
  const names = (await readdir(directory)).filter((name) => !name.startsWith('.')).sort()
  const files = await Promise.all(names.map((name) => readConfigFile(join(directory, name))))
  return files.filter((file) => file !== undefined)
}

async function readConfigFile(file: string): Promise<FolderFile | undefined> {
  try {
    const { size, isFile } = await stat(file).then((stats) => ({ size: stats.size, isFile: stats.isFile() }))
    if (!isFile) return undefined
    if (size > MAX_FILE_BYTES) return { file, problem: 'is larger than 1 MiB' }
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    // A file that cannot be read keeps its last content; a file that is gone was deleted after the listing.
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : { file, problem: `cannot be read (${code})` }
  }
}
