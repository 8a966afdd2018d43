/** Writes the objects of a store as a snapshot. */
import { randomBytes } from 'node:crypto'
import { createWriteStream, statSync } from 'node:fs'
import { open, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { Readable, type Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { K8sObject } from '../../api/meta.ts'
import { describeFileError } from '../../base/file-error.ts'
import { without } from '../../base/json.ts'
import type { GrantingNamespace } from '../../core/data-source-claim/grant.ts'
import { kindKey } from '../any-kind.ts'
import type { ObjectStore } from '../store.ts'
import { ObjectEncoder } from './encoder.ts'
import { SNAPSHOT_FORMAT, SNAPSHOT_VERSION, SnapshotError, type SnapshotHeader } from './header.ts'

/** The fields of the header that do not come from the store. */
export type SnapshotSettings = Omit<SnapshotHeader, 'format' | 'version' | 'unavailable' | 'notServed'>

export interface SnapshotContent {
  /** A store with the kinds of `snapshotKinds`. It must not change meanwhile: an object that changes could be listed twice. */
  store: Pick<ObjectStore, 'kinds' | 'list' | 'size' | 'serves' | 'unavailable'>
  settings: SnapshotSettings
  /** Changes each object before it is written, for an anonymous snapshot. */
  change?: (object: K8sObject) => K8sObject
}

/** The lines are collected to parts of about this many characters. */
const PART = 64 * 1024

/** Writes a snapshot to a stream, without ending it if it is the standard output. Rejects with the reason of `signal` if it aborts. */
export async function writeSnapshot(content: SnapshotContent, to: Writable, signal: AbortSignal): Promise<void> {
  const isStandard = to === process.stdout
  await pipeline(Readable.from(snapshotParts(content)), createGzip(), to, { signal, end: !isStandard })
}

/**
 * Writes a snapshot to a file. The file appears when it is complete: an interrupted command leaves the previous one. A link stays a link, and a
 * pipe or a device is written in place. Throws `SnapshotError` if the file cannot be written.
 */
export async function writeSnapshotFile(content: SnapshotContent, file: string, signal: AbortSignal): Promise<void> {
  try {
    const found = statSync(file, { throwIfNoEntry: false })
    if (found && !found.isFile()) await writeSnapshot(content, createWriteStream(file), signal)
    else await replaceFile(content, found ? await realpath(file) : file, signal)
  } catch (error) {
    if (signal.aborted || (error as NodeJS.ErrnoException).syscall === undefined) throw error
    throw new SnapshotError(`${file} cannot be written: ${describeFileError(error)}`, { cause: error })
  }
}

async function replaceFile(content: SnapshotContent, file: string, signal: AbortSignal): Promise<void> {
  const temporary = join(dirname(file), `.${basename(file)}.${randomBytes(6).toString('hex')}`)
  try {
    // Only its owner reads the names of all tenants.
    const handle = await open(temporary, 'wx', 0o600)
    const stream = createWriteStream(temporary, { fd: handle.fd, autoClose: false, flush: true })
    await writeSnapshot(content, stream, signal).finally(() => handle.close())
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function* snapshotParts(content: SnapshotContent): Generator<string> {
  let part = ''
  for (const line of snapshotLines(content)) {
    part += `${line}\n`
    if (part.length < PART) continue
    yield part
    part = ''
  }
  yield part
}

function* snapshotLines({ store, settings, change = (object) => object }: SnapshotContent): Generator<string> {
  yield JSON.stringify(snapshotHeader(store, settings))
  const lines: string[] = []
  const encoder = new ObjectEncoder((line) => lines.push(line))
  const counts: Record<string, number> = {}
  for (const type of store.kinds()) {
    const key = kindKey(type)
    encoder.beginKind(key)
    let count = 0
    for (const object of store.list(type)) {
      encoder.add(withoutGrant(change(object)))
      count += 1
      yield* lines.splice(0)
    }
    yield* lines.splice(0)
    counts[key] = count
  }
  yield JSON.stringify({ end: { objects: counts } })
}

function snapshotHeader(store: SnapshotContent['store'], settings: SnapshotSettings): SnapshotHeader {
  return {
    format: SNAPSHOT_FORMAT,
    version: SNAPSHOT_VERSION,
    ...settings,
    unavailable: store
      .unavailable()
      .map(({ type: { group, kind }, reason, message }) => ({ group, kind, reason, message })),
    notServed: store
      .kinds()
      .filter((type) => !store.serves(type))
      .map(kindKey),
  }
}

/** The parsed annotation of a namespace is no JSON. The reader parses it again. */
function withoutGrant(object: K8sObject): K8sObject {
  return (object as GrantingNamespace).claimGrant ? without(object as GrantingNamespace, 'claimGrant') : object
}
