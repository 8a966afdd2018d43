/** Archives with the same bytes in each build: sorted, owned by root, with one time. */
import { gzipSync } from 'node:zlib'

export interface ArchiveEntry {
  /** Relative, with `/`. */
  path: string
  /** The content of a file, or the target of a symbolic link. */
  content: Buffer | { linkTo: string }
  isExecutable?: boolean
}

type Listed = Partial<ArchiveEntry> & Pick<ArchiveEntry, 'path'>

const BLOCK = 512
/** The end of an archive: two empty blocks, and blocks up to the record size of tar. */
const RECORD = 20 * BLOCK
const MAX_NAME = 100
const MAX_PREFIX = 155
const TYPES = { file: '0', link: '2', directory: '5' } as const

/**
 * Returns a tar archive (POSIX ustar) with the entries and their folders, in the order of their paths. Throws if two entries have one path,
 * or if a path does not fit.
 *
 * @param timeSeconds the time of all entries, in seconds since 1970.
 * @param folders whether the archive has entries for folders. A layer of an image has them; npm and helm write none.
 */
export function tarOf(entries: readonly ArchiveEntry[], timeSeconds: number, folders = true): Buffer {
  const paths = entries.map(({ path }) => path)
  const repeated = paths.find((path, i) => paths.indexOf(path) !== i)
  if (repeated !== undefined) throw new Error(`two files of the archive have the path ${repeated}`)
  const all: Listed[] = [...(folders ? foldersOf(paths).map((path) => ({ path })) : []), ...entries]
  const blocks = all.sort((a, b) => compare(a.path, b.path)).flatMap((entry) => blocksOf(entry, timeSeconds))
  const size = blocks.reduce((sum, { length }) => sum + length, 0)
  const end = Math.ceil((size + 2 * BLOCK) / RECORD) * RECORD - size
  return Buffer.concat([...blocks, Buffer.alloc(end)])
}

/** Compresses with gzip, without a time and a name. */
export function gzipOf(archive: Buffer): Buffer {
  return gzipSync(archive)
}

/** Compares by code unit, which does not depend on the locale. */
export function compare(a: string, b: string): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

function foldersOf(paths: readonly string[]): string[] {
  const folders = new Set<string>()
  for (const path of paths) {
    const names = path.split('/').slice(0, -1)
    names.forEach((_, i) => {
      folders.add(`${names.slice(0, i + 1).join('/')}/`)
    })
  }
  return [...folders]
}

/** An entry without content is a folder. */
function blocksOf(entry: Listed, timeSeconds: number): Buffer[] {
  const { content } = entry
  if (content === undefined) return [header(entry, 'directory', timeSeconds)]
  if (!Buffer.isBuffer(content)) return [header(entry, 'link', timeSeconds, 0, content.linkTo)]
  const padding = Buffer.alloc((BLOCK - (content.length % BLOCK)) % BLOCK)
  return [header(entry, 'file', timeSeconds, content.length), content, padding]
}

function header(
  { path, isExecutable }: Listed,
  type: keyof typeof TYPES,
  timeSeconds: number,
  size = 0,
  linkTo = '',
): Buffer {
  const block = Buffer.alloc(BLOCK)
  const [prefix, name] = split(path)
  const octal = (value: number, offset: number, digits: number) =>
    block.write(`${value.toString(8).padStart(digits, '0')}\0`, offset)
  block.write(name, 0)
  octal(type === 'file' && !isExecutable ? 0o644 : 0o755, 100, 7)
  octal(0, 108, 7)
  octal(0, 116, 7)
  octal(size, 124, 11)
  octal(timeSeconds, 136, 11)
  // The checksum counts its own field as spaces.
  block.write(' '.repeat(8), 148)
  block.write(TYPES[type], 156)
  if (Buffer.byteLength(linkTo) > MAX_NAME) throw new Error(`the link of ${path} is too long for an archive`)
  block.write(linkTo, 157)
  block.write('ustar\x0000', 257)
  block.write(prefix, 345)
  block.write(
    `${[...block]
      .reduce((sum, byte) => sum + byte, 0)
      .toString(8)
      .padStart(6, '0')}\0 `,
    148,
  )
  return block
}

/** Divides a long path at a slash, as ustar does. */
function split(path: string): [prefix: string, name: string] {
  if (Buffer.byteLength(path) <= MAX_NAME) return ['', path]
  for (let i = path.indexOf('/'); i !== -1; i = path.indexOf('/', i + 1)) {
    const [prefix, name] = [path.slice(0, i), path.slice(i + 1)]
    if (Buffer.byteLength(prefix) <= MAX_PREFIX && Buffer.byteLength(name) <= MAX_NAME && name !== '')
      return [prefix, name]
  }
  throw new Error(`the path ${path} is too long for an archive`)
}
