/** The objects of an S3 bucket, as downloads and uploads need them. */
import { defined } from '../../base/json.ts'
import { parseListing } from '../../s3/listing.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { checksumOf } from './checksum.ts'
import type { Bucket } from './s3.ts'
import { errorOfResponse } from './s3-error.ts'
import { localEtag, sendFile } from './upload-file.ts'

/** Requests the checksum of the whole object in the headers of the response. */
const WITH_CHECKSUM = { 'x-amz-checksum-mode': 'ENABLED' }

export function createS3Store(bucket: Bucket): ObjectStore {
  const { objectUri, retry } = bucket
  return {
    objectUri,
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
    async head(key, signal) {
      return (await bucket.send({ method: 'HEAD', key, headers: WITH_CHECKSUM }, signal)).headers
    },
    get(key, headers, signal, receive) {
      const extra = headers.range === undefined ? WITH_CHECKSUM : {}
      return bucket.exchange({ method: 'GET', key, headers: { ...extra, ...headers } }, signal, receive)
    },
    hasContent: async ({ etag }, local, signal, looked) => (await localEtag(local, signal, looked)) === etag,
    upload: (key, local, expected, progress, signal) => sendFile({ ...local, bucket, key, expected, progress }, signal),
  }
}
