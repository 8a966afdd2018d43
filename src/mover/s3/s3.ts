/** A bucket of an S3 server: signed requests with retries. One redirect is followed, to the same origin. */
import { createHmac, createSecretKey, hash } from 'node:crypto'
import { defined } from '../../base/json.ts'
import { keyPath, queryText } from '../../base/net/url-encoding.ts'
import { AWS_ENDPOINT, bucketUrl, virtualHostFault } from '../../s3/address.ts'
import { isS3Error } from '../../s3/server.ts'
import { createSigner, type Digest } from '../../s3/sigv4.ts'
import { type RetryOptions, withRetries } from '../http/backoff.ts'
import type { HttpClient } from '../http/client.ts'
import { type HttpRequest, type HttpResponse, isStreamed, type SinkFor } from '../http/messages.ts'
import { isRedirect } from '../http/server-error.ts'
import { MoverError } from '../mover-error.ts'
import type { ObjectRequest } from '../objects/object-store.ts'
import type { CredentialSource } from './credentials.ts'
import { errorOfResponse } from './s3-error.ts'

export interface BucketOptions {
  endpoint?: string
  bucket: string
  /** Default: the region that the server names. */
  region?: string
  /** Default: true, except at AWS. */
  pathStyle?: boolean
  credentials: CredentialSource
  /** Headers of every request, with names in lower case. */
  headers?: Readonly<Record<string, string>>
  retry: RetryOptions
  /** Milliseconds since the epoch. */
  now: () => number
}

export interface Bucket {
  /** `s3://bucket/key`. */
  objectUri(key: string): string
  /** Makes one attempt and returns the response of any status. It follows one redirect to the same origin. */
  exchange(request: ObjectRequest, signal: AbortSignal, receive?: SinkFor): Promise<HttpResponse>
  /** Sends with retries. Throws a `MoverError` for a response of status 300 or above, and for one with an error in its body. */
  send(request: ObjectRequest, signal: AbortSignal): Promise<HttpResponse>
  readonly retry: RetryOptions
}

const DEFAULT_REGION = 'us-east-1'

/** Such as an object with SSE-C or a token that has expired, and missing rights or the wrong clock of a node. */
const AMBIGUOUS: ReadonlySet<number> = new Set([400, 403])

const digest: Digest = {
  sha256: (text) => hash('sha256', text),
  hmac: (key, text) => createHmac('sha256', key).update(text).digest(),
  hmacsBy(key) {
    const prepared = createSecretKey(key)
    return (text) => createHmac('sha256', prepared).update(text).digest('hex')
  },
}
const EMPTY_HASH = digest.sha256('')

/**
 * Opens a bucket. Without a region in the options, it requests the region from the server. Throws a `MoverError` when the server is
 * unreachable.
 */
export async function openBucket(options: BucketOptions, http: HttpClient, signal: AbortSignal): Promise<Bucket> {
  if (options.region !== undefined) return createBucket(options, options.region, http)
  // Every response of S3 names the region, even an error. Only the error for a signature with a wrong region does not.
  const guess = createBucket({ ...options, credentials: async () => undefined }, DEFAULT_REGION, http)
  const { headers } = await withRetries(options.retry, signal, async () => {
    const answer = await guess.exchange({ method: 'HEAD', key: '' }, signal)
    if (answer.status >= 500 || answer.status === 429) throw errorOfResponse(guess.objectUri(''), answer)
    return answer
  })
  const region = headers['x-amz-bucket-region']
  const isNamed = region !== undefined && /^[A-Za-z0-9-]+$/.test(region)
  return createBucket(options, isNamed ? region : DEFAULT_REGION, http)
}

function createBucket(options: BucketOptions, region: string, http: HttpClient): Bucket {
  const { bucket: name, endpoint = AWS_ENDPOINT, pathStyle = endpoint !== AWS_ENDPOINT, credentials, now } = options
  const fault = pathStyle ? undefined : virtualHostFault(endpoint, name)
  if (fault !== undefined) {
    throw new MoverError('Rejected', `${fault}; use path style (--path-style true, the option pathStyle of the volume)`)
  }
  const { origin, host, pathname } = new URL(bucketUrl(endpoint, name, region, pathStyle))
  const base = pathname.replace(/\/$/, '')
  const objectUri = (key: string) => `s3://${name}/${key}`
  const sign = createSigner({ region, service: 's3' }, digest)

  async function exchange(request: ObjectRequest, signal: AbortSignal, receive?: SinkFor): Promise<HttpResponse> {
    const { key, query = {} } = request
    const path = `${base}/${keyPath(key)}`
    const answer = await sendTo({ path, query: Object.entries(query) }, request, signal, receive)
    const target = redirectTarget(answer, origin, path)
    return target === undefined ? answer : sendTo(target, request, signal, receive)
  }

  async function sendTo(
    { path, query }: Target,
    { method, headers: own, body }: ObjectRequest,
    signal: AbortSignal,
    receive?: SinkFor,
  ): Promise<HttpResponse> {
    const headers = { ...options.headers, ...own }
    const keys = await credentials()
    const bodyHash = body === undefined ? EMPTY_HASH : isStreamed(body) ? body.sha256 : hash('sha256', body)
    const toSign = { method, host, path, query, bodyHash, amzHeaders: pick(headers, 'x-amz-') }
    const signed = keys === undefined ? headers : { ...headers, ...sign(toSign, keys, now()) }
    const search = queryText(query)
    const request: HttpRequest = defined({
      method,
      origin,
      path: search === '' ? path : `${path}?${search}`,
      headers: signed,
      body,
    })
    return http.send(request, signal, receive)
  }

  /** Some statuses have many reasons, and a response to HEAD has no body with the reason. The response to GET has it. */
  async function withReason(request: ObjectRequest, answer: HttpResponse, signal: AbortSignal): Promise<HttpResponse> {
    if (request.method !== 'HEAD' || !AMBIGUOUS.has(answer.status)) return answer
    const get: ObjectRequest = { ...request, method: 'GET', headers: { ...request.headers, range: 'bytes=0-0' } }
    return exchange(get, signal, ({ status }) => {
      // The object itself is not read.
      if (status !== answer.status) throw errorOfResponse(objectUri(request.key), answer)
      return undefined
    })
  }

  return {
    objectUri,
    exchange,
    retry: options.retry,
    send: (request, signal) =>
      withRetries(options.retry, signal, async () => {
        const answer = await exchange(request, signal)
        if (answer.status >= 300 || isS3Error(answer.text))
          throw errorOfResponse(objectUri(request.key), await withReason(request, answer, signal))
        return answer
      }),
  }
}

function pick(headers: Record<string, string>, prefix: string): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => name.startsWith(prefix)))
}

export interface Target {
  /** Encoded, without the query. */
  path: string
  /** Decoded. */
  query: [name: string, value: string][]
}

/** Where to send a request again; undefined when the response is no redirect to the same origin. */
function redirectTarget({ status, headers }: HttpResponse, origin: string, path: string): Target | undefined {
  const { location } = headers
  const base = `${origin}${path}`
  if (!isRedirect(status) || location === undefined || !URL.canParse(location, base)) return undefined
  const url = new URL(location, base)
  return url.origin === origin ? { path: url.pathname, query: [...url.searchParams] } : undefined
}
