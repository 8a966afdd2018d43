/** Downloads a large object in parts. A request gets several parts in a row; each is recorded when it has arrived. */
import { constants } from 'node:fs'
import { dirname } from 'node:path'
import type { Checksum } from '../../base/checksum.ts'
import { type CrcPiece, combineCrcs, isCrc } from '../checksum/combine-crcs.ts'
import { createHasher, hashFile } from '../checksum/hashing.ts'
import type { HttpResponse } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import { type Part, partAt, partCount, partsOfRequest } from '../objects/byte-ranges.ts'
import { unquoteEtag } from '../objects/object-store.ts'
import type { Job } from '../pool.ts'
import { fileSize, type ObjectFile, type RangeSink } from './object-file.ts'

const { O_CREAT, O_NOFOLLOW, O_TRUNC, O_WRONLY } = constants

/** Yields the requests of an object. The last one verifies and completes the file. */
export async function* requestsFor(target: ObjectFile, signal: AbortSignal): AsyncGenerator<Job> {
  const { entry, id, context } = target
  const { journal, progress, partSize, parallel, store, verify, folders, flush } = context
  await folders.ensure(dirname(target.path))
  const isThere = (await fileSize(target.written)) !== undefined
  // If the file is missing, its parts in the journal would be holes. Without an ETag, they may be of another version of the object.
  if (journal.partsOf(id).size > 0 && (!isThere || entry.etag === '')) journal.forget(id)
  const there = journal.partsOf(id)
  const parts = Array.from({ length: partCount(entry.size, partSize) }, (_, i) => partAt(i, entry.size, partSize))
  const missing = parts.filter(({ index }) => !there.has(index))
  for (const { index, start, end } of parts) if (there.has(index)) progress.adjust(end - start)
  // Before the file is open, since it fails for an object that cannot be read.
  const headers = await requestHeaders(target, signal)
  const file = await target.open(O_WRONLY | O_CREAT | O_NOFOLLOW | (there.size === 0 ? O_TRUNC : 0))
  let left = missing.length
  const wanted = headers && verify === 'checksum' ? store.checksumOf(headers) : undefined
  // Without an ETag in the listing, each part must have the ETag of the object before its parts.
  const pinned = { ...entry, etag: entry.etag || unquoteEtag(headers?.['etag']) }
  const crcs = new Map<number, string>()
  // Closes the file when the download ends early.
  const close = () => void file.close().catch(() => undefined)
  signal.addEventListener('abort', close, { once: true })

  const finish = async () => {
    signal.removeEventListener('abort', close)
    await file.truncate(entry.size)
    await file.close()
    if (wanted) await verifyFile(target, wanted, { parts, crcs }, signal)
    await target.done()
  }
  const arrived = ({ index }: Part, crc: string | undefined) => {
    if (crc !== undefined) crcs.set(index, crc)
    journal.add(id, index)
    flush.begin(file)
  }
  const request = async (run: readonly Part[]) => {
    const range = { start: run[0]?.start ?? 0, end: run.at(-1)?.end ?? 0 }
    await target.fetch(pinned, range, file, partSink(run, wanted, arrived), signal)
    left -= run.length
    if (left === 0) await finish()
  }
  if (left === 0) yield finish
  for (let at = 0; at < missing.length; ) {
    const run = partsOfRequest(missing, at, parallel)
    at += run.length
    yield () => request(run)
  }
}

/** Returns a sink that writes parts in a row. It calls `arrived` when a part is written, with its CRC if the object has one. */
function partSink(
  parts: readonly Part[],
  wanted: Checksum | undefined,
  arrived: (part: Part, crc: string | undefined) => void,
): RangeSink {
  const nextCrc = () => (wanted && isCrc(wanted.algorithm) ? createHasher(wanted.algorithm) : undefined)
  let current = 0
  let position = parts[0]?.start ?? 0
  let crc = nextCrc()
  return (chunk, writer) => {
    for (let at = 0; at < chunk.length; ) {
      const part = parts[current] as Part
      const piece = chunk.subarray(at, at + part.end - position)
      crc?.update(piece)
      writer.write(piece)
      at += piece.length
      position += piece.length
      if (position < part.end) continue
      writer.flush()
      arrived(part, crc?.digest())
      current += 1
      crc = nextCrc()
    }
  }
}

/** Requests the checksum of an object, or its ETag, before its parts. Throws `SourceChanged` when the object is gone. */
async function requestHeaders(
  { entry, context: { store, verify } }: ObjectFile,
  signal: AbortSignal,
): Promise<HttpResponse['headers'] | undefined> {
  if (verify === 'size' && entry.etag !== '') return undefined
  try {
    return await store.head(entry.key, signal)
  } catch (error) {
    const isGone = error instanceof MoverError && error.code === 'NotFound'
    throw isGone ? new MoverError('SourceChanged', error.message) : error
  }
}

/**
 * Verifies a file whose parts arrived in any order. The CRC of the file is combined from the CRCs of its parts; parts of an earlier mover
 * are read again. For other checksums, the whole file is read, mostly from the page cache. Progress subtracts the bytes to read and adds
 * them again while they are read, so that the long read does not count as stalled.
 */
async function verifyFile(
  target: ObjectFile,
  wanted: Checksum,
  { parts, crcs }: { parts: readonly Part[]; crcs: ReadonlyMap<number, string> },
  signal: AbortSignal,
): Promise<void> {
  const { algorithm } = wanted
  const { progress, checksums, journal } = target.context
  const isRead = ({ index }: Part) => !isCrc(algorithm) || !crcs.has(index)
  progress.adjust(-parts.filter(isRead).reduce((sum, { start, end }) => sum + end - start, 0))
  const hash = (range?: Part) => hashFile(target.written, algorithm, signal, range, (bytes) => progress.adjust(bytes))
  let value: string
  if (isCrc(algorithm)) {
    const pieces: CrcPiece[] = []
    for (const part of parts) {
      pieces.push({ crc: crcs.get(part.index) ?? (await hash(part)), bytes: part.end - part.start })
    }
    value = combineCrcs(algorithm, pieces)
  } else value = await hash()
  if (value === wanted.value) return checksums.add(target.entry, wanted)
  // The damaged part is unknown, so all parts are downloaded again.
  journal.forget(target.id)
  throw target.mismatch(wanted, value)
}
