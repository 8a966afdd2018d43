/** File names as bytes: a name that is not UTF-8 would change in a string, and its file would not be found. */
import type { Dirent } from 'node:fs'
import { lstat, opendir, rmdir, unlink } from 'node:fs/promises'

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

/** Deletes a file, or a directory with all below it. `rm` of Node.js fails for a tree that has a name that is not UTF-8. */
export async function removeTree(path: Buffer): Promise<void> {
  if (!(await lstat(path)).isDirectory()) return unlink(path)
  for await (const { name } of openBytes(path)) await removeTree(joinBytes(path, name))
  await rmdir(path)
}
