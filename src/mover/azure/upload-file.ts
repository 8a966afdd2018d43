/** Uploads one file as a block blob, in one piece or in blocks, with its MD5. The server checks the MD5 of each piece. */
import { createHash, randomBytes } from 'node:crypto'
import { partAt, partCount } from '../objects/byte-ranges.ts'
import { type KeptHeaders, keptHeaders, sendConditionally } from '../objects/conditional.ts'
import { type ExpectedObject, type LocalFile, type ObjectRequest, unquoteEtag } from '../objects/object-store.ts'
import { readPart } from '../objects/read-part.ts'
import type { Progress } from '../progress.ts'
import type { Container } from './container.ts'

interface SendInput extends LocalFile {
  container: Container
  key: string
  expected: ExpectedObject
  progress: Progress
}

/** What a changed blob keeps. Its tags are not in the response headers. */
const KEPT: KeptHeaders = {
  metadata: 'x-ms-meta-',
  names: {
    'cache-control': 'x-ms-blob-cache-control',
    'content-disposition': 'x-ms-blob-content-disposition',
    'content-encoding': 'x-ms-blob-content-encoding',
    'content-language': 'x-ms-blob-content-language',
    'content-type': 'x-ms-blob-content-type',
  },
}

/**
 * Sends a file and returns the ETag of the blob. Throws `ChecksumMismatch` when a piece was damaged in transit, and `SourceChanged` when the
 * blob is not the expected one.
 */
export async function sendFile(input: SendInput, signal: AbortSignal): Promise<string> {
  const { container, key, expected, file, size, partSize, progress } = input
  const sendWrite = async (request: ObjectRequest) => {
    const { headers } = await sendConditionally((one) => container.send(one, signal), request, expected)
    return unquoteEtag(headers['etag'])
  }
  if (size <= partSize) {
    const { body, bytes, md5 } = await readPart(file, { start: 0, end: size }, signal)
    const checksum = { 'content-md5': md5.toString('base64') }
    const headers = { ...keptHeaders(expected, KEPT), 'x-ms-blob-type': 'BlockBlob', ...checksum }
    const etag = await sendWrite({ method: 'PUT', key, headers, body })
    progress.moved(bytes)
    return etag
  }
  // Two uploads of the same file must not mix their blocks. Azure deletes blocks that no list has, after a week.
  const upload = randomBytes(8).toString('hex')
  const blocks: string[] = []
  const whole = createHash('md5')
  // Blocks are sent one after another: several files are sent concurrently, and a small block is in memory.
  for (let index = 0; index < partCount(size, partSize); index++) {
    const part = await readPart(file, partAt(index, size, partSize), signal, (chunk) => whole.update(chunk))
    // All IDs of a blob have the same length.
    const id = Buffer.from(`${upload}-${`${index}`.padStart(5, '0')}`).toString('base64')
    const query = { comp: 'block', blockid: id }
    const headers = { 'content-md5': part.md5.toString('base64') }
    await container.send({ method: 'PUT', key, query, headers, body: part.body }, signal)
    blocks.push(id)
    progress.moved(part.bytes)
  }
  const headers = { ...keptHeaders(expected, KEPT), 'x-ms-blob-content-md5': whole.digest('base64') }
  return sendWrite({ method: 'PUT', key, query: { comp: 'blocklist' }, headers, body: blockList(blocks) })
}

/** The body of Put Block List. The IDs are base64, so nothing is escaped. */
function blockList(ids: readonly string[]): string {
  const blocks = ids.map((id) => `<Uncommitted>${id}</Uncommitted>`)
  return `<?xml version="1.0" encoding="utf-8"?><BlockList>${blocks.join('')}</BlockList>`
}
