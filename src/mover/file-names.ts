/** File names as bytes: a name that is not UTF-8 would change in a string, and its file would not be found. */
import { randomUUID } from 'node:crypto'
import type { Dirent } from 'node:fs'
import { lstat, opendir, rename, rmdir, unlink } from 'node:fs/promises'

const SLASH = Buffer.from('/')

/** Joins a folder and a name. */
export function joinBytes(folder: Buffer, name: Buffer): Buffer {
  return folder.length === 0 ? name : Buffer.concat([folder, SLASH, name])
}

/** Yields the entries of a directory with their names as bytes. */
export async function* openBytes(folder: Buffer): AsyncGenerator<{ entry: Dirent; name: Buffer }> {
  // The types of Node.js lack paths and the encoding `buffer` for opendir, which it supports.
  const directory = await opendir(folder as unknown as string, { encoding: 'buffer' as BufferEncoding })
  for await (const entry of directory) yield { entry, name: entry.name as unknown as Buffer }
}

/** Writes each byte that is not printable ASCII as `\\xHH`. */
export function escapeBytes(path: Buffer): string {
  return path.toString('latin1').replace(/[^\x20-\x5b\x5d-\x7e]/g, (one) => {
    return `\\x${one.charCodeAt(0).toString(16).padStart(2, '0')}`
  })
}

/**
 * In bytes, below the tree that is deleted. A folder with a longer path is moved to the top first, since each level keeps a folder open. Linux
 * takes no path of 4096 bytes, although a pod can make one step by step.
 */
const MAX_BELOW = 1024

/**
 * Deletes a file, or a directory with all below it. `rm` of Node.js fails for a tree that has a name that is not UTF-8, or a long path.
 *
 * @param deleted called with the size of each file that is deleted
 */
export async function removeTree(
  top: Buffer,
  deleted: (bytes: number) => void = () => undefined,
  signal?: AbortSignal,
): Promise<void> {
  if (!(await lstat(top)).isDirectory()) return unlink(top)
  const moved: Buffer[] = []

  async function removeBelow(folder: Buffer): Promise<void> {
    for await (const { entry, name } of openBytes(folder)) {
      signal?.throwIfAborted()
      const path = joinBytes(folder, name)
      if (!entry.isDirectory()) {
        const { size } = await lstat(path)
        await unlink(path)
        deleted(size)
      } else if (path.length - top.length > MAX_BELOW) {
        const higher = joinBytes(top, Buffer.from(`.${randomUUID()}`))
        await rename(path, higher)
        moved.push(higher)
      } else {
        await removeBelow(path)
        await rmdir(path)
      }
    }
  }

  await removeBelow(top)
  for (let folder = moved.pop(); folder !== undefined; folder = moved.pop()) {
    // The listing of the top may have included it already.
    if (!(await lstat(folder).catch(() => undefined))) continue
    await removeBelow(folder)
    await rmdir(folder)
  }
  await rmdir(top)
}
