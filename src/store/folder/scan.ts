/** Finds the manifest files below a folder. Limits stop the scan of a wrong path, such as a whole disk. */
import type { BigIntStats, Dirent } from 'node:fs'
import { readdir, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

export interface ScannedFile {
  file: string
  bytes: number
  /** Changes whenever the file changes. Undefined while the file is so new that another change might not alter its time. */
  stamp: string | undefined
}

interface Scan {
  /** Sorted by path, so that the first file is the same on every system. */
  files: ScannedFile[]
  errors: { file: string; message: string }[]
}

const MAX_DEPTH = 16
const MAX_FILES = 20_000
const MANIFEST = /\.(?:ya?ml|json)$/i
/** Takes the place of bytes that are not UTF-8 in the names of a listed folder. No file has the new name. */
const UNDECODED = '\ufffd'
/** The coarsest resolution of file times. */
const SETTLED_AFTER_MS = 2000

/** Lists `*.yaml`, `*.yml` and `*.json` below `directory`. It skips hidden names and node_modules, and reads each linked folder or file once. */
export async function scanFolder(directory: string): Promise<Scan> {
  const scan: Scan = { files: [], errors: [] }
  const seen = new Set<string>()
  const seenFiles = new Set<string>()
  await scanInto(directory, 0)
  scan.files.sort((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
  return scan

  async function scanInto(path: string, depth: number): Promise<void> {
    if (depth > MAX_DEPTH) {
      scan.errors.push({ file: path, message: `is more than ${MAX_DEPTH} folders deep, and was not read` })
      return
    }
    const entries = await attempt(path, depth > 0, async () => {
      // A folder that several symlinks lead to is read once, which also ends loops.
      const real = await realpath(path)
      if (seen.has(real)) return []
      seen.add(real)
      return readdir(path, { withFileTypes: true })
    })
    for (const entry of sorted(entries ?? [])) {
      if (entry.name.startsWith('.') || entry.name === 'node_modules') continue
      await visit(join(path, entry.name), entry, depth)
    }
  }

  async function visit(path: string, entry: Dirent, depth: number): Promise<void> {
    if (entry.isDirectory()) return scanInto(path, depth + 1)
    const isManifest = MANIFEST.test(entry.name)
    if (!isManifest && !entry.isSymbolicLink()) return
    // A broken symlink is an error only when it has the name of a manifest.
    const stats = await attempt(path, !(entry.isSymbolicLink() && isManifest), () => stat(path, { bigint: true }))
    if (stats?.isDirectory()) return scanInto(path, depth + 1)
    if (!stats || !isManifest) return
    // Such as a named pipe: it would block.
    if (!stats.isFile()) scan.errors.push({ file: path, message: 'is not a file, and was not read' })
    else if (isSeen(stats)) return
    else if (scan.files.length < MAX_FILES)
      scan.files.push({ file: path, bytes: Number(stats.size), stamp: fileStamp(stats) })
    else if (scan.files.length === MAX_FILES && scan.errors.at(-1)?.file !== directory) {
      scan.errors.push({
        file: directory,
        message: `has more than ${MAX_FILES} manifest files; the others were not read`,
      })
    }
  }

  /** Whether another name of the file was read before. Some network file systems number no files. */
  function isSeen({ dev, ino }: BigIntStats): boolean {
    if (ino === 0n) return false
    const before = seenFiles.size
    seenFiles.add(`${dev}:${ino}`)
    return seenFiles.size === before
  }

  async function attempt<T>(file: string, wasListed: boolean, run: () => Promise<T>): Promise<T | undefined> {
    try {
      return await run()
    } catch (error) {
      if (wasListed && isGone(error)) {
        // The entry was deleted after its folder was listed, unless it has a name that Node.js cannot decode.
        if (file.includes(UNDECODED))
          scan.errors.push({ file, message: 'has a name that is not UTF-8, and was not read; rename it' })
        return undefined
      }
      scan.errors.push({ file, message: `cannot be read: ${(error as Error).message}` })
      return undefined
    }
  }
}

/** Whether an error says that a file or folder does not exist. */
export function isGone(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

function sorted(entries: Dirent[]): Dirent[] {
  return entries.sort((a, b) => (a.name < b.name ? -1 : 1))
}

function fileStamp(stats: BigIntStats): string | undefined {
  if (Date.now() - Number(stats.mtimeMs) < SETTLED_AFTER_MS) return undefined
  return `${stats.dev}:${stats.ino}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`
}
