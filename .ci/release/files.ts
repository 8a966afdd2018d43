/** Reads the files of a folder as entries of an archive, and writes entries into a folder. */
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { lstat, readdir, readFile, readlink } from 'node:fs/promises'
import { dirname, join, relative } from 'node:path'
import type { ArchiveEntry } from './archive.ts'

/** Returns the relative paths of all files and links below a folder, sorted. */
export async function filesBelow(folder: string): Promise<string[]> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true })
  return found
    .filter((entry) => !entry.isDirectory())
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))
    .sort()
}

/** Reads a file or a link. `to` is its path in the archive. */
export async function entryOf(folder: string, path: string, to = path): Promise<ArchiveEntry> {
  const file = join(folder, path)
  const status = await lstat(file)
  if (status.isSymbolicLink()) return { path: to, content: { linkTo: await readlink(file) } }
  return { path: to, content: await readFile(file), isExecutable: (status.mode & 0o100) !== 0 }
}

/** Writes entries below a folder, with the modes that an archive would have. */
export function writeEntries(folder: string, entries: readonly ArchiveEntry[]): void {
  for (const { path, content, isExecutable } of entries) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true, mode: 0o755 })
    if (!Buffer.isBuffer(content)) symlinkSync(content.linkTo, file)
    else {
      writeFileSync(file, content)
      chmodSync(file, isExecutable ? 0o755 : 0o644)
    }
  }
}
