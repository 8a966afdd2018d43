/** Finds file systems that are mounted inside a directory. A privileged pod can leave one behind, and its files are not those of the data. */
import { readFile } from 'node:fs/promises'
import { MoverError } from './mover-error.ts'

/**
 * Throws `Rejected` if a file system is mounted in the directory, however deep. A deletion would delete the files of that file system too.
 *
 * @param directory a path without symbolic links
 */
export async function requireNoMount(directory: string): Promise<void> {
  const table = await readFile('/proc/self/mountinfo', 'latin1').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error
    return ''
  })
  const mount = findMount(table, directory)
  if (mount === undefined) return
  throw new MoverError('Rejected', `a file system is mounted at ${mount}; unmount it on the node`)
}

/** Returns the first mount point in the directory, or at it, from the text of `/proc/self/mountinfo` as Latin-1 (proc_pid_mountinfo(5)). */
export function findMount(table: string, directory: string): string | undefined {
  const at = Buffer.from(directory).toString('latin1')
  for (const line of table.split('\n')) {
    const point = line
      .split(' ')[4]
      ?.replace(/\\([0-7]{3})/g, (_, octal) => String.fromCharCode(Number.parseInt(octal, 8)))
    if (point === at || point?.startsWith(`${at}/`)) return Buffer.from(point, 'latin1').toString()
  }
  return undefined
}
