/** Reads a part of a file for an upload. A large part is read while it is sent, so that it is never in memory as a whole. */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'
import type { HttpBody } from '../http/messages.ts'
import { MoverError } from '../mover-error.ts'
import type { Part } from './byte-ranges.ts'

/** A part of a file, as the body of a request. */
export interface FilePart {
  /** Fewer than requested if the file has become shorter. */
  bytes: number
  md5: Buffer
  body: HttpBody
}

/** Parts of this size are read at once. Larger ones are those of files with more than 10,000 parts of the usual size. */
const MAX_IN_MEMORY = 16 * 1024 * 1024
const READ_BYTES = 1024 * 1024
/** A chunk that is sent, since the timeout of a request begins again with each. */
const SEND_BYTES = 64 * 1024

/**
 * Reads the bytes from start to end. If they are many, it reads them for their checksums alone, and again for each attempt to send them. A
 * body whose bytes have changed since is not sent to its end, but throws `SourceChanged`.
 *
 * @param read called with the bytes, once
 */
export async function readPart(
  file: FileHandle,
  { start, end }: Pick<Part, 'start' | 'end'>,
  signal: AbortSignal,
  read: (chunk: Buffer) => void = () => undefined,
): Promise<FilePart> {
  if (end - start <= MAX_IN_MEMORY) {
    const body = await readAt(file, start, end)
    read(body)
    return { bytes: body.length, md5: createHash('md5').update(body).digest(), body }
  }
  const [md5, sha256] = [createHash('md5'), createHash('sha256')]
  let bytes = 0
  for await (const chunk of chunksOf(file, start, end)) {
    signal.throwIfAborted()
    bytes += chunk.length
    read(chunk)
    md5.update(chunk)
    sha256.update(chunk)
  }
  const wanted = md5.digest()
  const chunks = () => unchanged(file, start, start + bytes, wanted)
  return { bytes, md5: wanted, body: { bytes, sha256: sha256.digest('hex'), chunks } }
}

/** Yields the bytes of a file. The last ones come only if all of them have the MD5. */
async function* unchanged(file: FileHandle, start: number, end: number, wanted: Buffer): AsyncGenerator<Buffer> {
  const md5 = createHash('md5')
  let held: Buffer | undefined
  for await (const chunk of chunksOf(file, start, end)) {
    md5.update(chunk)
    if (held !== undefined) yield* slicesOf(held)
    held = chunk
  }
  if (!md5.digest().equals(wanted)) throw new MoverError('SourceChanged', 'the file changed while it was read')
  if (held !== undefined) yield* slicesOf(held)
}

async function* chunksOf(file: FileHandle, start: number, end: number): AsyncGenerator<Buffer> {
  for (let at = start; at < end; ) {
    const chunk = await readAt(file, at, Math.min(at + READ_BYTES, end))
    if (chunk.length === 0) return
    at += chunk.length
    yield chunk
  }
}

function* slicesOf(chunk: Buffer): Generator<Buffer> {
  for (let at = 0; at < chunk.length; at += SEND_BYTES) yield chunk.subarray(at, at + SEND_BYTES)
}

/** Reads the bytes from start to end; fewer if the file has become shorter. */
async function readAt(file: FileHandle, start: number, end: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(end - start)
  let at = 0
  while (at < buffer.length) {
    const { bytesRead } = await file.read(buffer, at, buffer.length - at, start + at)
    // The file became shorter. The rest is not sent, and the file is checked again later.
    if (bytesRead === 0) break
    at += bytesRead
  }
  return buffer.subarray(0, at)
}
