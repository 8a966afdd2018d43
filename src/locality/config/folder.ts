/** Reads a folder of configurations in the form of a mounted ConfigMap: a file for each key, with any name. Files may be links. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { describeFileError } from '../../base/file-error.ts'
import { type ConfigFile, type ConfigSource, ConfigSourceError } from './source.ts'

/** The limit of a ConfigMap as a whole. */
const MAX_FILE_BYTES = 1024 * 1024

/** Returns the files of a folder, such as a mounted ConfigMap, without hidden ones such as the `..data` of a mount. */
export function folderSource(directory: string): ConfigSource {
  return { name: directory, directory, read: () => readConfigFolder(directory) }
}

async function readConfigFolder(directory: string): Promise<ConfigFile[]> {
  const all = await readdir(directory).catch((cause: NodeJS.ErrnoException) => {
    throw new ConfigSourceError(`cannot be read: ${describeFileError(cause)}`, { cause })
  })
  const names = all.filter((name) => !name.startsWith('.')).sort()
  const files = await Promise.all(names.map((name) => readConfigFile(join(directory, name))))
  return files.filter((file) => file !== undefined)
}

async function readConfigFile(file: string): Promise<ConfigFile | undefined> {
  try {
    const { size, isFile } = await stat(file).then((stats) => ({ size: stats.size, isFile: stats.isFile() }))
    if (!isFile) return undefined
    if (size > MAX_FILE_BYTES) return { file, problem: 'is larger than 1 MiB' }
    return { file, text: await readFile(file, 'utf8') }
  } catch (error) {
    // An unreadable file keeps its last content. A missing file was deleted after the listing.
    const { code } = error as NodeJS.ErrnoException
    return code === 'ENOENT' ? undefined : { file, problem: `cannot be read: ${describeFileError(error)}` }
  }
}
