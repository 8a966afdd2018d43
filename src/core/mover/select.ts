/** Decides which objects belong to a download, and which file each becomes; a key is never trusted to be a path. */
import type { ListedObject } from '../s3/listing.ts'
import type { S3Place } from './source.ts'

export interface Selection {
  place: S3Place
  /** Globs, of which one must match; none: everything. */
  match: readonly string[]
  /** Every object directly in the target. */
  flat: boolean
}

export type Chosen =
  | { kind: 'file'; path: string }
  /** A key that ends in a slash, as consoles create it for an empty folder. */
  | { kind: 'folder'; path: string }
  | { kind: 'left-out' }
  | { kind: 'unsafe'; reason: string }

/** Decides the use of one object. Paths are relative, with slashes. */
export function choose({ key }: Pick<ListedObject, 'key'>, { place, match, flat }: Selection): Chosen {
  const below = place.recursive ? key.slice(place.key.length) : (key.split('/').at(-1) ?? '')
  if (below === '') return { kind: 'left-out' }
  // VCK's globs are of `mc find --path`, which sees the whole path with the alias in front; what is below the prefix reads better.
  const names = [`s3/${place.bucket}/${key}`, below]
  if (match.length > 0 && !match.some((glob) => names.some((name) => matchesGlob(glob, name)))) {
    return { kind: 'left-out' }
  }
  const isFolder = below.endsWith('/')
  if (isFolder && flat) return { kind: 'left-out' }
  const path = isFolder ? below.slice(0, -1) : flat ? (below.split('/').at(-1) ?? '') : below
  const reason = unsafeBecause(path)
  if (reason !== undefined) return { kind: 'unsafe', reason }
  return { kind: isFolder ? 'folder' : 'file', path }
}

/** Of Linux; what is longer cannot be created. */
const MAX_NAME_BYTES = 255
const MAX_PATH_BYTES = 3000

/** Why a relative path is refused; undefined when it is safe. */
export function unsafeBecause(path: string): string | undefined {
  if (path.includes('\0')) return 'has a NUL character'
  if (!path.isWellFormed()) return 'is no Unicode text'
  if (path.startsWith('/')) return 'is absolute'
  const segments = path.split('/')
  if (segments.includes('..')) return 'has a .. in it'
  if (segments.includes('.')) return 'has a . in it'
  if (segments.includes('')) return 'has an empty part'
  if (byteLength(path) > MAX_PATH_BYTES) return `is longer than ${MAX_PATH_BYTES} bytes`
  if (segments.some((segment) => byteLength(segment) > MAX_NAME_BYTES)) {
    return `has a part of more than ${MAX_NAME_BYTES} bytes`
  }
  return undefined
}

function byteLength(text: string): number {
  // Nearly all are short: three bytes are the most that a UTF-16 code unit can take.
  return text.length <= MAX_NAME_BYTES / 3 ? text.length : encodeURIComponent(text).replace(/%../g, '_').length
}

/** Whether `*` (anything, slashes too) and `?` (one character) of a glob match a whole text, as in MinIO's wildcard package. */
export function matchesGlob(glob: string, text: string): boolean {
  // Greedy with one point to go back to: linear in practice, and never exponential as a regular expression may be.
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
