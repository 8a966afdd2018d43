/**
 * Writes a changed file back to its object. The write expects the object that the directory last received or sent. If another client
 * changed the object, it stays, and the file becomes a copy beside it.
 */
import type { FileHandle } from 'node:fs/promises'
import { firstCharacters } from '../../base/first-characters.ts'
import { defined, without } from '../../base/json.ts'
import type { ListedObject } from '../../base/objects.ts'
import { hashOpenFile } from '../checksum/hashing.ts'
import { MoverError } from '../mover-error.ts'
import { uploadPartSize } from '../objects/byte-ranges.ts'
import { type ExpectedObject, type LocalFile, type ObjectStore, unquoteEtag } from '../objects/object-store.ts'
import { MAX_NAME_BYTES } from '../objects/select.ts'
import type { Progress } from '../progress.ts'
import { type BaseObject, foldersOf, type UploadBase } from './base.ts'
import type { Seen } from './walk.ts'

export interface WriteBackInput {
  store: ObjectStore
  base: UploadBase
  progress: Progress
  partSize: number
  pending: LocalFile['pending']
}

export interface ChangedFile {
  key: string
  stats: Seen
  file: FileHandle
}

/** Objects of which the source has two versions after an upload. */
export interface Conflict {
  key: string
  /** The key of the copy of the file. */
  copy: string
}

/**
 * Writes a file back unless it is unchanged. Returns the conflict if the object is not the expected one. Throws a `MoverError`: `UnsafeKey`
 * and `KeyConflict` for a key that cannot be written.
 *
 * An object that another client changed or deleted, and whose file no pod touched, stays as it is.
 */
export async function writeBack(
  input: WriteBackInput,
  changed: ChangedFile,
  signal: AbortSignal,
): Promise<Conflict | undefined> {
  const write = await openWrite(input, changed, signal)
  const { store, base, key } = write
  if (base !== undefined && (await isUntouched(write, base))) return keepUntouched(write, base)
  needValidKey(store, key)
  const current = await currentObject(write, key)
  if (base === undefined && current === undefined) await needNoConflict(write)
  if (isExpected(base, current?.object)) return send(write, current)
  if (current && (await hasSameContent(write, current))) return adopt(write, current.object)
  return copyBeside(write)
}

/** The write of one file. */
interface FileWrite extends Comparison {
  store: ObjectStore
  progress: Progress
  key: string
  local: LocalFile
  /** What the directory last received or sent of the file; undefined for a new one. */
  base: BaseObject | undefined
  bases: UploadBase
  /** Whether the file has the size and the time of the base. */
  isOfSameTime: boolean
  mark: Mark
  signal: AbortSignal
}

async function openWrite(
  { store, base: bases, progress, partSize, pending }: WriteBackInput,
  { key, stats, file }: ChangedFile,
  signal: AbortSignal,
): Promise<FileWrite> {
  const { size, mtimeMs } = stats
  const local: LocalFile = defined({ file, size, partSize: uploadPartSize(size, partSize), pending })
  const comparison = beginComparison(progress)
  const base = bases.get(key)
  const isOfSameTime = base?.size === size && base.mtimeMs === mtimeMs
  // Before the content is compared or sent, since a pod may change it meanwhile.
  const mark = isOfSameTime ? { mtimeMs } : await markOf(stats, local, signal, comparison.look)
  return { ...comparison, store, progress, key, local, base, bases, isOfSameTime, mark, signal }
}

/** Records an object with the content of the file as its base. */
function adopt({ settle, bases, key, local: { size }, mark }: FileWrite, object: ListedObject): undefined {
  settle(size)
  bases.set({ ...object, key, size, ...mark })
}

/** Keeps a file that no pod changed. Returns its conflict as long as the source has both versions. */
async function keepUntouched(write: FileWrite, base: BaseObject): Promise<Conflict | undefined> {
  const { key, local, mark, bases, isOfSameTime, settle } = write
  if (!isOfSameTime) bases.set({ ...without(base, 'mtimeMs', 'sha256'), ...mark })
  if (base.conflict !== undefined) {
    if (await currentObject(write, base.conflict)) {
      settle(local.size)
      return { key, copy: base.conflict }
    }
    // A user has resolved the conflict. With the content of the file, the object is the base of its next change.
    const chosen = await currentObject(write, key)
    if (chosen && (await hasSameContent(write, chosen))) return adopt(write, chosen.object)
  }
  settle(local.size)
  return undefined
}

/** Replaces the object of the file, or creates it. */
async function send(write: FileWrite, current: CurrentObject | undefined): Promise<Conflict | undefined> {
  const { store, key, local, base, bases, mark, progress, settle, signal } = write
  settle(0)
  const expected: ExpectedObject = base ? { etag: base.etag, headers: current?.headers ?? {} } : 'absent'
  try {
    const etag = await store.upload(key, local, expected, progress, signal)
    bases.set({ key, size: local.size, etag, ...mark })
    return undefined
  } catch (error) {
    if (!(error instanceof MoverError) || error.code !== 'SourceChanged') throw error
    // The answer to a write that succeeded may be lost; then the repeated write finds the object of the first one.
    const found = await currentObject(write, key)
    if (found && (await hasSameContent(write, found))) return adopt(write, found.object)
    if (isExpected(base, found?.object)) throw error
    return copyBeside(write)
  }
}

/** The progress of the comparison of a file, which takes long for a large one. It is reported, so that it does not count as stalled. */
interface Comparison {
  /** Adds bytes that were read. */
  look(bytes: number): void
  /** Replaces the bytes that were read by those of the file that are done. */
  settle(bytes: number): void
}

function beginComparison(progress: Progress): Comparison {
  let compared = 0
  return {
    look(bytes) {
      compared += bytes
      progress.adjust(bytes)
    },
    settle(bytes) {
      progress.adjust(bytes - compared)
      compared = 0
    },
  }
}

/** By what the next upload recognizes that a file is unchanged. */
type Mark = Pick<BaseObject, 'mtimeMs' | 'sha256'>

/**
 * How long a pod may change a mapped file without a new modification time: until the kernel has written the page. By default, that is after
 * 35 s (vm.dirty_expire_centisecs, vm.dirty_writeback_centisecs).
 */
const UNSETTLED_MS = 120_000

/** The modification time of a file, or the checksum of its content if the time is too recent to be a proof. */
async function markOf(
  { mtimeMs }: Seen,
  local: LocalFile,
  signal: AbortSignal,
  look: (bytes: number) => void,
): Promise<Mark> {
  return Date.now() - mtimeMs > UNSETTLED_MS
    ? { mtimeMs }
    : { sha256: await hashOpenFile(local, 'sha256', signal, look) }
}

/** Whether no pod changed the file since the directory received or sent its object: the same size, and the same time or content. */
async function isUntouched(
  { store, isOfSameTime, local, mark, signal, look }: FileWrite,
  base: BaseObject,
): Promise<boolean> {
  if (isOfSameTime) return true
  if (base.size !== local.size) return false
  if (base.sha256 !== undefined)
    return base.sha256 === (mark.sha256 ?? (await hashOpenFile(local, 'sha256', signal, look)))
  // The object of a conflict is not that of the file.
  return base.conflict === undefined && store.hasContent(base, local, signal, look)
}

/** Whether the source has what the directory last received or sent. Objects of a server without ETags are compared by size. */
function isExpected(base: BaseObject | undefined, current: ListedObject | undefined): boolean {
  if (base === undefined || current === undefined) return base === current
  if (base.conflict !== undefined) return false
  return base.etag === '' ? base.size === current.size : base.etag === current.etag
}

function needValidKey(store: ObjectStore, key: string): void {
  const fault = store.keyFault(key)
  if (fault !== undefined) throw new MoverError('UnsafeKey', `${shown(store, key)} ${fault}; rename the file`)
}

/**
 * Throws `KeyConflict` if an object would be a file and a folder, since a pod replaced one by the other. No directory could have both, so each
 * later download of the source would fail.
 */
async function needNoConflict(write: FileWrite): Promise<void> {
  const { store, bases, key, signal } = write
  const refuse = (other: string) =>
    new MoverError(
      'KeyConflict',
      `${shown(store, key)}, while ${shown(store, other)} exists; delete it, or rename the file`,
    )
  for (const folder of foldersOf(key)) {
    if (bases.get(folder) !== undefined && (await currentObject(write, folder))) throw refuse(folder)
  }
  if (!bases.hasFolder(key)) return
  const [below] = (await store.list(`${key}/`, undefined, signal)).objects
  if (below) throw refuse(below.key)
}

/** In characters. */
const MAX_SHOWN = 200

function shown(store: ObjectStore, key: string): string {
  return store.objectUri(key.length > MAX_SHOWN ? `${firstCharacters(key, MAX_SHOWN)}…` : key)
}

interface CurrentObject {
  object: ListedObject
  headers: Readonly<Record<string, string | undefined>>
}

/** The object of a key now; undefined if there is none. */
async function currentObject(
  { store, signal }: Pick<FileWrite, 'store' | 'signal'>,
  key: string,
): Promise<CurrentObject | undefined> {
  try {
    const headers = await store.head(key, signal)
    return { object: { key, size: Number(headers['content-length']), etag: unquoteEtag(headers['etag']) }, headers }
  } catch (error) {
    if (error instanceof MoverError && error.code === 'NotFound') return undefined
    throw error
  }
}

async function hasSameContent(
  { store, local, signal, look }: FileWrite,
  { object, headers }: CurrentObject,
): Promise<boolean> {
  if (object.size !== local.size) return false
  const checksum = store.checksumOf(headers)
  if (checksum === undefined) return store.hasContent(object, local, signal, look)
  return (await hashOpenFile(local, checksum.algorithm, signal, look)) === checksum.value
}

const COPY_HASH_LENGTH = 12

/** The key of the copy of a file, beside its object. A long name is cut. */
function copyKey(key: string, hash: string): string {
  const suffix = `.lodestone-conflict-${hash.slice(0, COPY_HASH_LENGTH)}`
  const nameAt = key.lastIndexOf('/') + 1
  let name = key.slice(nameAt)
  while (Buffer.byteLength(name) + suffix.length > MAX_NAME_BYTES) name = firstCharacters(name, name.length - 1)
  return `${key.slice(0, nameAt)}${name}${suffix}`
}

/**
 * Uploads the file as a copy beside its object. The name has a hash of the content: another attempt makes no other copy. Globs such as `*.csv`
 * do not match the suffix.
 */
async function copyBeside(write: FileWrite): Promise<Conflict> {
  const { store, bases, base, progress, key, local, mark, signal, look, settle } = write
  const hash = await hashOpenFile(local, 'sha256', signal, look)
  const copy = copyKey(key, hash)
  needValidKey(store, copy)
  const isThere = (await currentObject(write, copy)) !== undefined
  settle(isThere ? local.size : 0)
  if (!isThere) await store.upload(copy, local, 'absent', progress, signal)
  bases.set({ key, size: local.size, etag: base?.etag ?? '', ...mark, conflict: copy })
  return { key, copy }
}
