/** The manifest of a download: the list of its objects, in a file. The list of a million objects must not be in memory. */
import { createHash, hash as hashOf } from 'node:crypto'
import { open } from 'node:fs/promises'
import { defined, isCount } from '../../base/json.ts'
import type { ListedObject } from '../../base/objects.ts'
import { MoverError } from '../mover-error.ts'
import { listObjects } from '../objects/listing.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { choose, type Selection } from '../objects/select.ts'
import { readLines } from './line-log.ts'

export interface Entry extends ListedObject {
  /** The path of the file, relative to the target. */
  path: string
  isFolder?: true
}

export interface Manifest {
  /** The number of files, without folders. */
  files: number
  bytes: number
  /** A digest of the key, size, ETag and path of all objects. */
  digest: string
  /** The object with data that can be no file, and why. It is not part of the data. */
  leftOut?: string
  entries(): AsyncGenerator<Entry>
}

/** The most keys in an error message. */
const MAX_NAMED = 5
const MAX_REFUSED = 10_000
/** The objects of a listing that the server lists twice. A server with more of them begins again and again. */
const MAX_REPEATED = 10_000
const WRITE_CHARACTERS = 1024 * 1024
const LISTED_EVERY = 1000

/**
 * Lists the objects of a selection and writes them to a file. It calls `listed` with the bytes and files so far every 1,000 objects.
 *
 * Throws a `MoverError` when no object is selected, a key cannot be a path below the target, or two keys would be the same file.
 */
export async function writeManifest(
  path: string,
  store: ObjectStore,
  selection: Selection,
  signal: AbortSignal,
  listed: (bytes: number, files: number) => void,
): Promise<Manifest> {
  const hash = createHash('sha256')
  const check = new PathCheck(selection.flat)
  let [files, bytes, seen, text] = [0, 0, 0, '']
  let leftOut: string | undefined
  const file = await open(path, 'w')
  try {
    for await (const object of listObjects(store, selection.place, signal)) {
      seen += 1
      if (seen % LISTED_EVERY === 0) listed(bytes, files)
      // The download fails anyway, and the message has enough examples.
      if (check.isLimitReached) break
      const entry = entryOf(object)
      if (entry === undefined) continue
      if (!entry.isFolder) {
        files += 1
        bytes += object.size
        if (!isCount(bytes))
          throw new MoverError('Rejected', `${store.objectUri('')}: the server lists more bytes than any disk has`)
      }
      const line = `${JSON.stringify(entry)}\n`
      hash.update(line)
      text += line
      if (text.length < WRITE_CHARACTERS) continue
      await file.appendFile(text)
      text = ''
    }
    await file.appendFile(text)
  } finally {
    await file.close()
  }
  check.throwIfRefused()
  if (files === 0) throw nothing(store, selection, seen)
  return defined({ files, bytes, digest: hash.digest('hex'), leftOut, entries: () => readEntries(path) })

  /** The line of an object; undefined if it is not part of the data, or refused. */
  function entryOf(object: ListedObject): Entry | undefined {
    const chosen = choose(object, selection)
    if (chosen.kind === 'left-out') {
      if (chosen.reason !== undefined) leftOut = `${store.objectUri(object.key)} ${chosen.reason}`
      return undefined
    }
    if (chosen.kind === 'unsafe') {
      check.refuse('UnsafeKey', `${JSON.stringify(object.key)} ${chosen.reason}`)
      return undefined
    }
    const isFolder = chosen.kind === 'folder'
    if (!check.add(object.key, chosen.path, isFolder)) return undefined
    return { ...object, path: chosen.path, ...defined({ isFolder: isFolder || undefined }) }
  }
}

/** The ID of an object in the journal: a hash of its key, size, ETag and path. */
export function entryId({ key, size, etag, path }: Entry): string {
  return shortHash(JSON.stringify([key, size, etag, path]))
}

/** A hash of 96 bits. No bucket has enough objects for a collision. */
export function shortHash(text: string): string {
  return hashOf('sha256', text, 'base64url').slice(0, 16)
}

/** Reads the entries of a manifest file. */
export async function* readEntries(path: string): AsyncGenerator<Entry> {
  for await (const line of readLines(path)) yield JSON.parse(line) as Entry
}

function nothing(store: ObjectStore, { place, match }: Selection, seen: number): MoverError {
  const where = store.objectUri(place.key)
  if (seen === 0) return new MoverError('NotFound', `no object below ${where}; check the source`)
  return new MoverError(
    'NothingSelected',
    `none of the ${seen} objects below ${where} matches ${match.join(', ') || 'a file'}`,
  )
}

/** Checks that every object can be a file below the target, and collects the objects that cannot. */
class PathCheck {
  readonly #isFlat: boolean
  #repeated = 0
  /** Only without folders: otherwise a path has one key. */
  readonly #keys = new Set<string>()
  readonly #files = new Set<string>()
  readonly #folders = new Set<string>()
  readonly #refused: { code: 'UnsafeKey' | 'KeyConflict'; text: string }[] = []
  #count = 0

  /** @param isFlat whether objects of several folders may have the same path */
  constructor(isFlat: boolean) {
    this.#isFlat = isFlat
  }

  /** Whether so many objects are invalid that the rest of the listing is skipped. */
  get isLimitReached(): boolean {
    return this.#count >= MAX_REFUSED
  }

  /**
   * Adds an object. Returns false for a file that the server has listed before, as on two pages between which the bucket changed. If its content
   * changed too, the download of the first one fails with `SourceChanged`.
   */
  add(key: string, path: string, isFolder: boolean): boolean {
    const id = shortHash(path)
    if (!isFolder && this.#isRepeated(key, id)) {
      this.#repeated += 1
      if (this.#repeated <= MAX_REPEATED) return false
      throw new MoverError('Rejected', `the server lists the same objects again and again, such as ${path}`)
    }
    if (!isFolder && (this.#files.has(id) || this.#folders.has(id)))
      this.refuse('KeyConflict', `two objects have the path ${path}`)
    else if (isFolder && this.#files.has(id)) this.refuse('KeyConflict', `${path} is a file and a folder`)
    if (isFolder) this.#folders.add(id)
    else this.#files.add(id)
    for (let at = path.lastIndexOf('/'); at > 0; at = path.lastIndexOf('/', at - 1)) {
      const folder = path.slice(0, at)
      const folderId = shortHash(folder)
      // The folders above it were checked when it was added.
      if (this.#folders.has(folderId)) break
      if (this.#files.has(folderId)) this.refuse('KeyConflict', `${folder} is a file and a folder`)
      this.#folders.add(folderId)
    }
    return true
  }

  #isRepeated(key: string, id: string): boolean {
    if (!this.#isFlat) return this.#files.has(id)
    const keyId = shortHash(key)
    if (this.#keys.has(keyId)) return true
    this.#keys.add(keyId)
    return false
  }

  refuse(code: 'UnsafeKey' | 'KeyConflict', text: string): void {
    this.#count += 1
    if (this.#refused.length < MAX_NAMED) this.#refused.push({ code, text })
  }

  throwIfRefused(): void {
    const [first] = this.#refused
    if (first === undefined) return
    const more = this.#count > MAX_NAMED ? `, and ${this.#count - MAX_NAMED} more` : ''
    const keys = this.#refused.map(({ text }) => text).join('; ')
    throw new MoverError(
      first.code,
      `objects that cannot be files below the target: ${keys}${more}; rename them, or leave them out with --exclude, which is the option exclude of the volume`,
    )
  }
}
