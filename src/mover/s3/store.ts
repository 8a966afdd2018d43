/** The objects of an S3 bucket, as downloads and uploads need them. */
import { defined } from '../../base/json.ts'
import { parseListing } from '../../s3/listing.ts'
import type { HttpResponse } from '../http/messages.ts'
import { InvalidArgumentError, NotImplementedError } from '../http/server-error.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { checksumOf } from './checksum.ts'
import type { Bucket } from './s3.ts'
import { errorOfResponse } from './s3-error.ts'
import { localEtag, sendFile } from './upload-file.ts'

/** Requests the checksum of the whole object in the headers of the response. */
const WITH_CHECKSUM: Record<string, string> = { 'x-amz-checksum-mode': 'ENABLED' }

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-keys.html */
const MAX_KEY_BYTES = 1024

/** Whether an error may be about the request for a checksum. Backblaze refuses it as an invalid argument. */
function mayRefuseChecksum(error: unknown): boolean {
  return error instanceof InvalidArgumentError || error instanceof NotImplementedError
}

/** @param trustsEtags whether an upload is damaged if the ETag of its object is another MD5 */
export function createS3Store(bucket: Bucket, trustsEtags: boolean): ObjectStore {
  const { objectUri, retry } = bucket
  let withChecksum: Record<string, string> = WITH_CHECKSUM

  async function head(key: string, signal: AbortSignal): Promise<HttpResponse['headers']> {
    const headers = withChecksum
    try {
      return (await bucket.send({ method: 'HEAD', key, headers }, signal)).headers
    } catch (error) {
      if (headers !== WITH_CHECKSUM || !mayRefuseChecksum(error)) throw error
      withChecksum = {}
      return head(key, signal)
    }
  }

  const get: ObjectStore['get'] = async (key, headers, signal, receive) => {
    const extra = headers.range === undefined ? withChecksum : {}
    const answer = await bucket.exchange({ method: 'GET', key, headers: { ...extra, ...headers } }, signal, receive)
    const isRefused = answer.status >= 300 && mayRefuseChecksum(errorOfResponse(objectUri(key), answer))
    if (extra !== WITH_CHECKSUM || !isRefused) return answer
    withChecksum = {}
    return get(key, headers, signal, receive)
  }

  return {
    objectUri,
    keyFault: (key) => (Buffer.byteLength(key) > MAX_KEY_BYTES ? `is longer than ${MAX_KEY_BYTES} bytes` : undefined),
    retry,
    checksumOf,
    errorOf: (key, answer) => errorOfResponse(objectUri(key), answer),
    isObjectMissing: ({ status, text }) => status === 404 && !text.includes('NoSuchBucket'),
    async list(prefix, token, signal) {
      const query = defined({
        'list-type': '2',
        // Without it, a key with a control character makes the XML invalid.
        'encoding-type': 'url',
        prefix: prefix || undefined,
        'continuation-token': token,
      })
      const { text } = await bucket.send({ method: 'GET', key: '', query }, signal)
      const page = parseListing(text)
      if (page !== undefined) return page
      const wrong = 'the answer is not a page of ListObjectsV2; is the endpoint an S3 server?'
      throw new MoverError('Rejected', `${objectUri('')}: ${wrong}`)
    },
    head,
    get,
    hasContent: async ({ etag }, local, signal, looked) => (await localEtag(local, signal, looked)) === etag,
    upload: (key, local, expected, progress, signal) =>
      sendFile({ ...local, bucket, key, expected, progress, trustsEtags }, signal),
    async abort({ key, id: uploadId }, signal) {
      await bucket.send({ method: 'DELETE', key, query: { uploadId } }, signal)
    },
  }
}
