/** Opens the store of a snapshot file. */
import { type FileHandle, open, stat } from 'node:fs/promises'
import { createGunzip } from 'node:zlib'
import type { K8sObject } from '../../api/meta.ts'
import { namespaces } from '../../api/namespace.ts'
import { describeFileError } from '../../base/file-error.ts'
import { readClaimGrant } from '../../core/data-source-claim/grant.ts'
import { type AnyCachedKind, kindKey } from '../any-kind.ts'
import type { ObjectStore } from '../store.ts'
import type { ObjectList } from './compact-table.ts'
import { InvalidLineError, ObjectDecoder } from './decoder.ts'
import { MAX_CONTENT, MAX_LINE } from './format.ts'
import { checkHeader, damaged, notSnapshot, SnapshotError, type SnapshotHeader, snapshotContext } from './header.ts'
import { snapshotKinds } from './snapshot-kinds.ts'
import { SnapshotStore } from './snapshot-store.ts'
import { findError } from './validate-objects.ts'

/** The first bytes of gzip with the only method that exists. */
const GZIP = Buffer.from([0x1f, 0x8b, 0x08])
/** In bytes: a file is read and decompressed in parts. */
const PART = 64 * 1024

export interface SnapshotInput {
  file: string
  signal: AbortSignal
}

export interface OpenSnapshot {
  /** The objects, read-only. Its kinds are those of `snapshotKinds`; any other kind throws. */
  store: ObjectStore
  header: SnapshotHeader
}

/**
 * Reads a snapshot and returns its store, ready to be read. Throws `SnapshotError` with the name of the file if it cannot be read, is no
 * snapshot, has another version, or is truncated or damaged. Throws the reason of `signal` if it aborts.
 */
export async function openSnapshotStore({ file, signal }: SnapshotInput): Promise<OpenSnapshot> {
  const { header, kinds, decoder } = await readLines(file, signal)
  const build = (row: string) => withGrant(decoder.build(row))
  const rows = [...decoder.rows].map(([kind, texts]) => [kind, new ObjectRows(texts, build)] as const)
  const store = new SnapshotStore(kinds, new Map(rows), header)
  return { store, header }
}

interface ReadFile {
  header: SnapshotHeader
  kinds: readonly AnyCachedKind[]
  /** It has read all lines. */
  decoder: ObjectDecoder
}

async function readLines(file: string, signal: AbortSignal): Promise<ReadFile> {
  let read: ReadFile | undefined
  const readLine = (line: string): void => {
    if (read) read.decoder.read(line)
    else read = beginRead(checkHeader(parseFirst(line, file), file))
  }
  try {
    for await (const lines of decompressedLines(file, signal)) for (const line of lines) readLine(line)
  } catch (error) {
    throw describeError(error, file, signal)
  }
  if (!read) throw notSnapshot(file)
  if (!read.decoder.isComplete) throw truncated(file)
  return read
}

function beginRead(header: SnapshotHeader): ReadFile {
  const kinds = snapshotKinds(snapshotContext(header).kinds)
  return { header, kinds, decoder: new ObjectDecoder(checkOf(kinds)) }
}

/** Returns the complete lines of each part of the decompressed file, so that there is never one text of all. */
async function* decompressedLines(file: string, signal: AbortSignal): AsyncGenerator<string[]> {
  // A pipe without a writer would block, and no signal would end the process.
  if ((await stat(file)).isFIFO()) throw new SnapshotError(`${file} is a pipe; write the snapshot into a file first`)
  await using handle = await open(file)
  if (!(await isGzip(handle))) throw notSnapshot(file)
  const source = handle.createReadStream({ start: 0, highWaterMark: PART, autoClose: false, signal })
  const content = createGunzip({ chunkSize: PART })
  source.once('error', (error) => content.destroy(error))
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  let length = 0
  try {
    for await (const part of source.pipe(content) as AsyncIterable<Buffer>) {
      length += part.length
      if (length > MAX_CONTENT) throw new InvalidLineError(`it has more than ${MAX_CONTENT} bytes`)
      const lines = (rest + decoder.decode(part, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > MAX_LINE) throw new InvalidLineError(`a line has more than ${MAX_LINE} characters`)
      yield lines
    }
    if (rest !== '') throw new InvalidLineError('its last line has no end')
  } finally {
    source.destroy()
    content.destroy()
  }
}

/** Whether a file begins as RFC 1952 says. */
async function isGzip(handle: FileHandle): Promise<boolean> {
  const { buffer } = await handle.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0)
  return buffer.equals(GZIP)
}

function parseFirst(line: string, file: string): unknown {
  try {
    return JSON.parse(line)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw notSnapshot(file)
  }
}

/** Returns the error for the user, or the error itself if it is not one of the file. */
function describeError(error: unknown, file: string, signal: AbortSignal): unknown {
  if (error instanceof SnapshotError) return error
  if (signal.aborted) return signal.reason
  if (error instanceof InvalidLineError || error instanceof SyntaxError) return damaged(file, describe(error))
  const { code = '' } = error as NodeJS.ErrnoException
  // https://zlib.net/manual.html: a file that ends early, and changed content.
  if (code === 'Z_BUF_ERROR') return truncated(file)
  if (code.startsWith('Z_')) return damaged(file, 'it cannot be decompressed')
  if (code === 'ERR_ENCODING_INVALID_ENCODED_DATA') return damaged(file, 'it is not UTF-8')
  if ((error as NodeJS.ErrnoException).syscall !== undefined) {
    return new SnapshotError(`${file}: ${describeFileError(error)}`, { cause: error })
  }
  return error
}

function describe(error: Error): string {
  return error instanceof SyntaxError ? 'a line is not JSON' : error.message
}

function truncated(file: string): SnapshotError {
  return new SnapshotError(`${file} is not complete; write the snapshot again`)
}

/** The cached form of a namespace has its parsed annotation, which is no JSON. */
function withGrant(object: K8sObject): K8sObject {
  if (object.kind !== namespaces.kind) return object
  const claimGrant = readClaimGrant(object)
  return claimGrant ? Object.assign(object, { claimGrant }) : object
}

/** The check refuses a kind that this version does not know, since its objects could be relevant, and an invalid object. */
function checkOf(kinds: readonly AnyCachedKind[]): (kind: string, object: K8sObject) => void {
  const known = new Set(kinds.map(({ type }) => kindKey(type)))
  return (kind, object) => {
    if (!known.has(kind)) throw new InvalidLineError(`it has objects of the unknown kind ${kind}`)
    const error = findError(kind, object)
    if (error !== undefined) throw new InvalidLineError(error)
  }
}

/** Objects that are kept, at about 500 bytes each. A decision reads an object several times, and many decisions read the same source. */
const MAX_KEPT = 131_072

/**
 * The objects of one kind as the text of their rows. In memory, the text of a million bindings is a third of the objects. Builds an object
 * when it is read. Of a table with more than `MAX_KEPT` objects, an object may be built again.
 */
export class ObjectRows<T extends K8sObject> implements ObjectList<T> {
  readonly #texts: readonly string[]
  readonly #build: (text: string) => T
  /** The last object that was read of those whose number has the same remainder. */
  readonly #kept: ({ number: number; object: T } | undefined)[]

  constructor(texts: readonly string[], build: (text: string) => T) {
    this.#texts = texts
    this.#build = build
    this.#kept = new Array(Math.min(texts.length, MAX_KEPT))
  }

  get size(): number {
    return this.#texts.length
  }

  at(number: number): T {
    const slot = number % MAX_KEPT
    const kept = this.#kept[slot]
    if (kept?.number === number) return kept.object
    const object = this.#build(this.#texts[number] as string)
    this.#kept[slot] = { number, object }
    return object
  }

  /** Builds each object, and keeps none: a pass over all of them would replace those that are read often. */
  *[Symbol.iterator](): Generator<T, void, undefined> {
    for (const text of this.#texts) yield this.#build(text)
  }
}
