/** The blobs of a container, as downloads and uploads need them. */
import { md5FromBase64 } from '../../base/checksum.ts'
import { defined } from '../../base/json.ts'
import { hashOpenFile } from '../checksum/hashing.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectStore } from '../objects/object-store.ts'
import { azureErrorCode, errorOfAnswer } from './azure-error.ts'
import type { Container } from './container.ts'
import { parseBlobListing } from './listing.ts'
import { sendFile } from './upload-file.ts'

/** A page with the largest names and metadata stays below the limit of a response. */
const PAGE_SIZE = '1000'

const MAX_NAME_LENGTH = 1024
const MAX_SEGMENTS = 254

/** https://learn.microsoft.com/en-us/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata */
function keyFault(key: string): string | undefined {
  const segments = key.split('/')
  if (key.length > MAX_NAME_LENGTH) return `is longer than ${MAX_NAME_LENGTH} characters`
  if (segments.length > MAX_SEGMENTS) return `has more than ${MAX_SEGMENTS} parts`
  // Azure drops the dots, and takes a backslash as a slash: the file would become another blob.
  if (segments.some((segment) => segment.endsWith('.'))) return 'has a part that ends with a dot'
  return key.includes('\\') ? 'has a backslash' : undefined
}

export function createAzureStore(container: Container): ObjectStore {
  const { objectUri, retry } = container
  return {
    objectUri,
    keyFault,
    retry,
    errorOf: (key, answer) => errorOfAnswer(objectUri(key), answer),
    isObjectMissing: (answer) => answer.status === 404 && azureErrorCode(answer) !== 'ContainerNotFound',
    async list(prefix, token, signal) {
      const query = defined({
        restype: 'container',
        comp: 'list',
        include: 'metadata',
        maxresults: PAGE_SIZE,
        prefix: prefix || undefined,
        marker: token,
      })
      const { text } = await container.send({ method: 'GET', key: '', query }, signal)
      const page = parseBlobListing(text)
      if (page !== undefined) return page
      const wrong = 'the answer is not a page of List Blobs; is the endpoint an Azure Blob server?'
      throw new MoverError('Rejected', `${objectUri('')}: ${wrong}`)
    },
    async head(key, signal) {
      const { headers } = await container.send({ method: 'HEAD', key }, signal)
      const isFolder = headers['x-ms-resource-type'] === 'directory' || headers['x-ms-meta-hdi_isfolder'] === 'true'
      if (!isFolder || headers['content-length'] !== '0') return headers
      throw new MoverError('NotFound', `${objectUri(key)} is a directory; the source of a prefix must end in a slash`)
    },
    get: (key, headers, signal, receive) =>
      container.exchange({ method: 'GET', key, headers: { ...headers } }, signal, receive),
    checksumOf(headers) {
      // In the response for a range, Content-MD5 is that of the range.
      const isRange = headers['content-range'] !== undefined
      const value = md5FromBase64(headers['x-ms-blob-content-md5'] ?? (isRange ? undefined : headers['content-md5']))
      return value === undefined ? undefined : { algorithm: 'md5', value }
    },
    hasContent: async ({ md5 }, local, signal, looked) =>
      md5 !== undefined && (await hashOpenFile(local, 'md5', signal, looked)) === md5,
    upload: (key, local, expected, progress, signal) =>
      sendFile({ ...local, container, key, expected, progress }, signal),
  }
}
