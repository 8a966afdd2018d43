/** Decides which objects a download includes, and the file path of each. A key is never used as a path without a check. */
import type { ListedObject, ObjectPlace } from '../../base/objects.ts'

export interface Selection {
  place: ObjectPlace
  /** Globs; an object must match one of them. If empty, every object matches. */
  match: readonly string[]
  /** Globs; an object that matches one of them is left out. */
  exclude: readonly string[]
  /** Writes every object directly into the target folder. */
  flat: boolean
}

export type Chosen =
  | { kind: 'file'; path: string }
  /** A key that ends with a slash: S3 consoles create it for an empty folder. */
  | { kind: 'folder'; path: string }
  /** With the reason if an object with data can be no file: its name is the prefix itself. */
  | { kind: 'left-out'; reason?: string }
  | { kind: 'unsafe'; reason: string }

/** Decides how one object is used. Paths are relative, with slashes. */
export function choose(
  { key, size }: Pick<ListedObject, 'key' | 'size'>,
  { place, match, exclude, flat }: Selection,
): Chosen {
  const below = place.recursive ? key.slice(place.key.length) : (key.split('/').at(-1) ?? '')
  if (below === '' && size === 0) return { kind: 'left-out' }
  // VCK's globs are those of `mc find --path`, which match the whole path with the alias. A glob may also match the path below the prefix.
  const names = [`${place.globRoot}${key}`, below]
  const matchesOne = (globs: readonly string[]) => globs.some((glob) => names.some((name) => matchesGlob(glob, name)))
  if ((match.length > 0 && !matchesOne(match)) || matchesOne(exclude)) return { kind: 'left-out' }
  if (below === '') return { kind: 'left-out', reason: FOLDER_WITH_DATA }
  const isFolder = below.endsWith('/')
  if (isFolder && size > 0) return { kind: 'unsafe', reason: FOLDER_WITH_DATA }
  if (isFolder && flat) return { kind: 'left-out' }
  const path = isFolder ? below.slice(0, -1) : flat ? (below.split('/').at(-1) ?? '') : below
  const reason = unsafeBecause(path)
  if (reason !== undefined) return { kind: 'unsafe', reason }
  return { kind: isFolder ? 'folder' : 'file', path }
}

const FOLDER_WITH_DATA = 'has data, but its name ends with a slash'

/** The limits of Linux for names and paths: a longer one cannot be created. */
export const MAX_NAME_BYTES = 255
export const MAX_PATH_BYTES = 3000

/** Returns why a relative path is rejected; undefined if it is safe. */
export function unsafeBecause(path: string): string | undefined {
  if (path.includes('\0')) return 'has a NUL character'
  if (!path.isWellFormed()) return 'is not valid Unicode'
  if (path.startsWith('/')) return 'is absolute'
  const segments = path.split('/')
  if (segments.includes('..')) return 'contains ..'
  if (segments.includes('.')) return 'contains .'
  if (segments.includes('')) return 'has an empty part'
  if (byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`
  if (segments.some((segment) => byteLength(segment) > MAX_NAME_BYTES)) {
    return `has a part of more than ${MAX_NAME_BYTES} bytes`
  }
  return undefined
}

function byteLength(text: string): number {
  // Most texts are short and are not counted: a UTF-16 code unit has at most three bytes in UTF-8.
  return text.length <= MAX_NAME_BYTES / 3 ? text.length : encodeURIComponent(text).replace(/%../g, '_').length
}

/** Whether a glob matches a whole text, as in MinIO's wildcard package. `*` matches any text, also slashes; `?` matches one character. */
export function matchesGlob(glob: string, text: string): boolean {
  // Greedy, with one position to return to: linear in practice and never exponential, unlike a regular expression.
  let [at, from] = [0, 0]
  let star = -1
  let resume = 0
  while (from < text.length) {
    if (at < glob.length && glob[at] !== '*' && (glob[at] === '?' || glob[at] === text[from])) {
      at++
      from++
    } else if (glob[at] === '*') {
      star = at++
      resume = from
    } else if (star >= 0) {
      at = star + 1
      from = ++resume
    } else {
      return false
    }
  }
  while (glob[at] === '*') at++
  return at === glob.length
}
