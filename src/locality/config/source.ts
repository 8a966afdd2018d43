/** The source of the configurations of data systems: a folder, or a ConfigMap. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { K8sObject } from '../../api/meta.ts'
import { describeFileError } from '../../base/file-error.ts'

/** One configuration: its name in messages, and its text, or why it has none. */
export type ConfigFile = { file: string; text: string } | { file: string; problem: string }

/** The files of a source are unknown. The message has the reason. */
export class ConfigSourceError extends Error {
  override name = 'ConfigSourceError'
}

export interface ConfigSource {
  /** The name in messages. */
  readonly name: string
  /** A folder whose changes are reported; without it, the source is only polled. */
  readonly directory?: string
  /** Returns the files, sorted by name. Throws `ConfigSourceError` if they are unknown. */
  read(): Promise<ConfigFile[]>
}

/** The limit of a ConfigMap as a whole. */
const MAX_FILE_BYTES = 1024 * 1024

/**
 * Returns the files of a folder, such as a mounted ConfigMap, without hidden ones such as the `..data` of a mount. Each key has a file with
 * any name. Files may be links.
 */
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

export interface ConfigMap extends K8sObject {
  data?: Record<string, string>
}

/**
 * Returns the keys of a ConfigMap. Names of files in them are relative to the working directory, because a ConfigMap has no folder.
 *
 * @param read returns the ConfigMap, or undefined if it does not exist
 */
export function configMapSource(
  { namespace, name }: { namespace: string; name: string },
  read: () => Promise<ConfigMap | undefined>,
): ConfigSource {
  return {
    name: `ConfigMap ${namespace}/${name}`,
    async read() {
      const found = await read().catch((cause: Error) => {
        throw new ConfigSourceError(`cannot be read (${cause.message})`, { cause })
      })
      // A deleted ConfigMap is not an empty one: its systems stay in use, as those of a missing folder.
      if (found === undefined) throw new ConfigSourceError('does not exist; create it')
      return Object.entries(found.data ?? {})
        .map(([key, text]): ConfigFile => ({ file: `ConfigMap ${namespace}/${name}/${key}`, text }))
        .sort((a, b) => (a.file < b.file ? -1 : 1))
    },
  }
}
