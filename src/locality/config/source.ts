/** The source of the configurations of data systems: a folder, or a ConfigMap. */
import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { K8sObject } from '../../api/meta.ts'
import { describeFileError } from '../../base/file-error.ts'

/**
 * One configuration: its name in messages, and its text, or why it has none. Names of files in the text are relative to its folder, by default that
 * of the file.
 */
export type ConfigFile = { file: string; text: string; folder?: string } | { file: string; problem: string }

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
    return decode(file, await readFile(file))
  } catch (error) {
    // An unreadable file keeps its last content. A missing file was deleted after the listing, unless Node.js could not decode its name.
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT') return { file, problem: `cannot be read: ${describeFileError(error)}` }
    return file.includes(UNDECODED) ? { file, problem: 'has a name that is not UTF-8; rename it' } : undefined
  }
}

/** Takes the place of bytes that are not UTF-8 in the names of a folder. */
const UNDECODED = '\ufffd'

/** Other bytes would be replaced too, for instance in a password. */
function decode(file: string, bytes: Uint8Array): ConfigFile {
  try {
    return { file, text: new TextDecoder('utf-8', { fatal: true }).decode(bytes) }
  } catch {
    // Every error is about the bytes.
    return { file, problem: 'is not UTF-8 text; save it as UTF-8' }
  }
}

export interface ConfigMap extends K8sObject {
  data?: Record<string, string>
  /** In base64. kubectl writes files here that are not UTF-8. */
  binaryData?: Record<string, string>
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
      const title = (key: string) => `ConfigMap ${namespace}/${name}/${key}`
      const texts = Object.entries(found.data ?? {}).map(([key, text]) => ({ file: title(key), text, folder: '.' }))
      const others = Object.entries(found.binaryData ?? {}).map(([key, content]) => {
        const decoded = decode(title(key), Buffer.from(content, 'base64'))
        return 'text' in decoded ? { ...decoded, folder: '.' } : decoded
      })
      return [...texts, ...others].sort((a, b) => (a.file < b.file ? -1 : 1))
    },
  }
}
