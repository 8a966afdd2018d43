/** Uploads one file, in one piece or in parts, and computes its ETag. */
import { createHash, randomBytes } from 'node:crypto'
import { defined, without } from '../../base/json.ts'
import { elementText } from '../../base/xml.ts'
import { hashFile } from '../checksum/hashing.ts'
import { RetryableError, withRetries } from '../http/backoff.ts'
import type { HttpResponse } from '../http/messages.ts'
import { InvalidStorageClassError, MetadataTooLargeError } from '../http/server-error.ts'
import { MoverError } from '../mover-error.ts'
import { partAt, partCount } from '../objects/byte-ranges.ts'
import { type KeptHeaders, keptHeaders, sendConditionally } from '../objects/conditional.ts'
import { type ExpectedObject, type LocalFile, type ObjectRequest, unquoteEtag } from '../objects/object-store.ts'
import { readPart } from '../objects/read-part.ts'
import type { Progress } from '../progress.ts'
import { checksumOf, isEncryptedByKey } from './checksum.ts'
import type { Bucket } from './s3.ts'

interface SendInput extends LocalFile {
  bucket: Bucket
  key: string
  expected: ExpectedObject
  progress: Progress
  /** Whether an upload is damaged if the ETag of its object is another MD5. */
  trustsEtags: boolean
  /** Identifies this upload. */
  mark: string
}

const METADATA = 'x-amz-meta-'
const STORAGE_CLASS = 'x-amz-storage-class'

/** What a changed object keeps. Tags, access rights and the lock of a version are not in the response headers. */
const KEPT: KeptHeaders = {
  metadata: METADATA,
  names: Object.fromEntries([
    // GCS leaves out the usual header of an object that it decodes on the way.
    ['x-goog-stored-content-encoding', 'content-encoding'],
    ...[
      ...['cache-control', 'content-disposition', 'content-encoding', 'content-language', 'content-type', 'expires'],
      ...[STORAGE_CLASS, 'x-amz-website-redirect-location'],
    ].map((name) => [name, name]),
  ]),
}

/** Sends the request that creates an object, with its headers. A header that the server refuses is left out then. */
async function sendNew<Response>(
  { expected, mark }: SendInput,
  send: (headers: Record<string, string>) => Promise<Response>,
): Promise<Response> {
  const kept = Object.entries(keptHeaders(expected, KEPT)).map(([name, value]) => [name, keptValue(name, value)])
  let headers: Record<string, string> = defined({ ...Object.fromEntries(kept), [MARK]: mark })
  for (;;) {
    try {
      return await send(headers)
    } catch (error) {
      const refused = REFUSED.find(({ by }) => error instanceof by)?.header
      if (refused === undefined || !(refused in headers)) throw error
      headers = without(headers, refused)
    }
  }
}

/** Values that describe another body are not kept, nor is a class whose objects cannot be read before they are restored. */
function keptValue(name: string, value: string): string | undefined {
  if (name === STORAGE_CLASS) return /^(?:GLACIER|DEEP_ARCHIVE)$/.test(value) ? undefined : value
  if (name !== 'content-encoding') return value
  const encodings = value.split(',').map((one) => one.trim())
  return encodings.filter((one) => !/^(?:aws-chunked|identity)?$/i.test(one)).join(',') || undefined
}

/** The header with the MD5 of a body. Without it, S3 refuses each write to a bucket whose objects get a lock. */
const md5Header = (hash: Buffer) => ({ 'content-md5': hash.toString('base64') })

/** The metadata of objects that recognizes the upload which wrote them. */
const MARK = `${METADATA}lodestone-upload`

/** The headers without which an object is written too, by the errors that refuse them. */
const REFUSED = [
  // MinIO has the name of a tier as the class of an object that it moved there, but writes only to its own classes.
  { by: InvalidStorageClassError, header: STORAGE_CLASS },
  // An object has 2 KiB of metadata at most, and other clients may have used them.
  { by: MetadataTooLargeError, header: MARK },
]

/**
 * Sends a file and returns the ETag of the object. Throws `ChecksumMismatch` when the server stored other data, and `SourceChanged` when
 * the object is not the expected one.
 */
export async function sendFile(file: Omit<SendInput, 'mark'>, signal: AbortSignal): Promise<string> {
  const input = { ...file, mark: randomBytes(8).toString('hex') }
  try {
    return input.size <= input.partSize ? await sendWhole(input, signal) : await sendMultipart(input, signal)
  } catch (error) {
    if (!(error instanceof MoverError) || error.code !== 'SourceChanged') throw error
    // The answer to a write that succeeded may be lost. The repeated write finds the object of the first one.
    const etag = await etagOfOwn(input, signal)
    if (etag === undefined) throw error
    return etag
  }
}

/** The ETag of the object if it is the one of this upload. The ETag itself is no proof: with a KMS key it is no checksum. */
async function etagOfOwn({ bucket, key, mark }: SendInput, signal: AbortSignal): Promise<string | undefined> {
  try {
    const { headers } = await bucket.send({ method: 'HEAD', key }, signal)
    return headers[MARK] === mark ? unquoteEtag(headers['etag']) : undefined
  } catch (error) {
    if (error instanceof MoverError && error.code === 'NotFound') return undefined
    throw error
  }
}

async function sendMultipart(input: SendInput, signal: AbortSignal): Promise<string> {
  const { bucket, key, pending } = input
  const create: ObjectRequest = { method: 'POST', key, query: { uploads: '' } }
  const created = await sendNew(input, (headers) => bucket.send({ ...create, headers }, signal))
  const uploadId = elementText(created.text, 'UploadId')
  if (uploadId === undefined)
    throw new MoverError('Rejected', `${bucket.objectUri(key)}: the server did not start a multipart upload`)
  pending?.begin({ key, id: uploadId })
  try {
    const etag = await sendParts(input, uploadId, signal)
    pending?.end({ key, id: uploadId })
    return etag
  } catch (error) {
    // Abort the upload, since the owner of the bucket pays for its parts. The signal may be aborted already, so this request has a timeout
    // of its own.
    const answer = await bucket
      .exchange({ method: 'DELETE', key, query: { uploadId } }, AbortSignal.timeout(1_000))
      .catch(() => undefined)
    if (answer !== undefined && answer.status < 300) pending?.end({ key, id: uploadId })
    throw error
  }
}

async function sendWhole(input: SendInput, signal: AbortSignal): Promise<string> {
  const { bucket, key, expected, file, size, progress, trustsEtags } = input
  const { body, bytes, md5: hash } = await readPart(file, { start: 0, end: size }, signal)
  const { headers } = await sendNew(input, (own) => {
    const request: ObjectRequest = { method: 'PUT', key, headers: { ...own, ...md5Header(hash) }, body }
    return sendConditionally((one) => bucket.send(one, signal), request, expected)
  })
  if (trustsEtags) checkSent(bucket.objectUri(key), headers, hash)
  progress.moved(bytes)
  return unquoteEtag(headers['etag'])
}

async function sendParts(input: SendInput, uploadId: string, signal: AbortSignal): Promise<string> {
  const { bucket, key, expected, file, size, partSize, progress, trustsEtags } = input
  const etags: string[] = []
  const hashes: Buffer[] = []
  let isEncrypted = false
  // Parts are sent one after another: several files are sent concurrently, and a small part is in memory.
  for (let index = 0; index < partCount(size, partSize); index++) {
    const { start, end } = partAt(index, size, partSize)
    const { body, bytes, md5: hash } = await readPart(file, { start, end }, signal)
    // S3 refuses a part that is too short, unless it is the last one.
    if (bytes < end - start) throw becameShorter(bucket.objectUri(key))
    const query = { partNumber: `${index + 1}`, uploadId }
    const { headers } = await bucket.send({ method: 'PUT', key, query, headers: md5Header(hash), body }, signal)
    if (trustsEtags) checkSent(bucket.objectUri(key), headers, hash)
    isEncrypted ||= isEncryptedByKey(headers)
    hashes.push(hash)
    etags.push(unquoteEtag(headers['etag']))
    progress.moved(bytes)
  }
  const complete: ObjectRequest = { method: 'POST', key, query: { uploadId }, body: completeMultipartBody(etags) }
  const { headers, text } = await sendConditionally((one) => sendComplete(bucket, one, signal), complete, expected)
  const etag = etagIn({ headers, text })
  // The ETag of an object that a key of KMS or of the customer encrypts is no MD5; each part was signed.
  const isComparable = trustsEtags && /-\d+$/.test(etag) && !isEncrypted && !isEncryptedByKey(headers)
  if (isComparable && etag !== composite(hashes)) throw mismatch(bucket.objectUri(key), etag, composite(hashes))
  return etag
}

/**
 * Sends the request that completes an upload in parts. S3 sends the status before the upload is complete, so an answer without an ETag is one
 * whose end was lost.
 */
function sendComplete(bucket: Bucket, request: ObjectRequest, signal: AbortSignal): Promise<HttpResponse> {
  return withRetries(bucket.retry, signal, async () => {
    const answer = await bucket.send(request, signal)
    if (etagIn(answer) !== '') return answer
    throw new RetryableError(`${bucket.objectUri(request.key)}: the server does not say that the upload is complete`)
  })
}

function etagIn({ headers, text }: Pick<HttpResponse, 'headers' | 'text'>): string {
  return unquoteEtag(elementText(text, 'ETag') ?? headers['etag'])
}

/** The ETag that S3 gives a file with parts of this size. It calls `looked` after each read with the number of bytes. */
export async function localEtag(
  { file, size, partSize }: LocalFile,
  signal: AbortSignal,
  looked: (bytes: number) => void,
): Promise<string> {
  const hashes: Buffer[] = []
  for (let index = 0; index < partCount(size, partSize); index++) {
    const hash = await hashFile(`/proc/self/fd/${file.fd}`, 'md5', signal, partAt(index, size, partSize), looked)
    hashes.push(Buffer.from(hash, 'hex'))
  }
  return size <= partSize ? (hashes[0] ?? md5(Buffer.alloc(0))).toString('hex') : composite(hashes)
}

function composite(hashes: Buffer[]): string {
  return `${md5(Buffer.concat(hashes)).toString('hex')}-${hashes.length}`
}

function md5(bytes: Uint8Array): Buffer {
  return createHash('md5').update(bytes).digest()
}

/**
 * Compares the checksum in the response, if it is an MD5. The ETag of an encrypted object may not be a checksum; the hash of the body was
 * signed.
 */
function checkSent(what: string, headers: HttpResponse['headers'], hash: Buffer): void {
  const stored = checksumOf({ ...headers })
  if (stored?.algorithm === 'md5' && stored.value !== hash.toString('hex'))
    throw mismatch(what, stored.value, hash.toString('hex'))
}

function becameShorter(what: string): MoverError {
  return new MoverError('SourceChanged', `${what}: its file became shorter while it was read`)
}

function mismatch(what: string, got: string, wanted: string): MoverError {
  return new MoverError('ChecksumMismatch', `${what}: the server stored ${got}, expected ${wanted}`)
}

/** Returns the body of CompleteMultipartUpload; part numbers begin with 1. */
export function completeMultipartBody(etags: readonly string[]): string {
  const parts = etags.map((etag, i) => `<Part><PartNumber>${i + 1}</PartNumber><ETag>"${etag}"</ETag></Part>`)
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join('')}</CompleteMultipartUpload>`
}
