/** The plugin `s3`: finds the region of a bucket and the size of a prefix, on S3 or a compatible server. */
import { withRegions } from '../../core/locality/location.ts'
import { AWS_ENDPOINT as AWS, bucketUrl, isBucketName } from '../../core/s3/address.ts'
import { parseListing } from '../../core/s3/listing.ts'
import type { Clock } from '../../time/clock.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { type HttpClient, type HttpResponse, openHttpClient } from '../http/http.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery } from './plugin.ts'

export const s3: SystemDefinition = {
  endpoint: 'one',
  defaultUrl: AWS,
  auth: ['none', 'sigv4'],
  extra: {
    /** Default: true, except at AWS. */
    pathStyle: { type: 'boolean' },
    /** With `none`, no objects are listed. */
    size: { enum: ['list', 'none'] },
    /** The most pages of a listing. A page has up to 1000 objects and may cost money. The size counts only the listed objects. */
    maxPages: { type: 'integer', minimum: 1, maximum: 1000 },
  },
  open: openS3,
}

interface Place {
  bucket: string
  /** Without a slash at the beginning or end; empty for the whole bucket. */
  prefix: string
}

function openS3(config: SystemConfig, clock: Clock): LocalityPlugin {
  const http = openHttpClient(config, clock)
  const base = config.endpoint.urls[0] ?? AWS
  const { region: fallback, pathStyle = base !== AWS, size = 'list', maxPages = 10 } = config.extra
  const urlOf = ({ bucket }: Place, region?: string) => bucketUrl(base, bucket, region, pathStyle === true)

  async function list(place: Place, region: string | undefined, signal: AbortSignal) {
    let bytes = 0
    let objects = 0
    let token: string | undefined
    for (let page = 0; page < Number(maxPages); page++) {
      const url = listUrl(urlOf(place, region), place, token)
      const response = await http.send({ method: 'GET', url, ...(region !== undefined && { region }) }, signal)
      // The region of a bucket is public, but a listing needs a permission.
      if (response.status === 401 || response.status === 403) return undefined
      if (response.status !== 200) throw http.refusal(response)
      const listed = parseListing(response.text)
      if (listed === undefined)
        throw new LocalityError('invalidResponse', `${response.what}: the answer is not a bucket's listing`)
      for (const { size: bytesOfOne } of listed.objects) bytes += bytesOfOne
      objects += listed.objects.length
      token = listed.next
      if (token === undefined) break
    }
    return { bytes, objects, isComplete: token === undefined }
  }

  return {
    system: config.system,
    locate: async (query, signal): Promise<LocalityAnswer> => {
      const place = parsePlace(query)
      const response = await http.send({ method: 'HEAD', url: `${urlOf(place)}/` }, signal)
      const region = regionOf(response, fallback as string | undefined, http)
      if (region === 'nowhere') return { kind: 'nowhere', reason: `there is no bucket ${place.bucket}` }
      const listed = size === 'none' ? undefined : await list(place, region, signal)
      if (listed?.objects === 0 && listed.isComplete && place.prefix !== '') {
        return { kind: 'nowhere', reason: `bucket ${place.bucket} has nothing below ${place.prefix}` }
      }
      const uri = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`
      const location = withRegions(uri, region === undefined ? [] : [region])
      const measured = listed && { bytes: listed.bytes, ...(!listed.isComplete && { bytesAreMinimum: true }) }
      return { kind: 'located', location, ...measured }
    },
    health: async (signal) => {
      // Any user may list buckets. A server that rejects this is healthy too.
      const response = await http.send({ method: 'GET', url: `${base}/` }, signal)
      if (!isS3(response))
        throw new LocalityError('invalidResponse', `${response.what}: the endpoint is not an S3 server`)
    },
    close: () => http.close(),
  }
}

/** Parses the name of a query. The type `bucket` has a bucket as name, the type `prefix` has `bucket/prefix`. Both may be URIs. */
function parsePlace({ type, name }: LocalityQuery): Place {
  if (type !== 'bucket' && type !== 'prefix') {
    throw new LocalityError('rejected', `${type}: must be bucket or prefix`)
  }
  const [bucket = '', ...rest] = name.replace(/^s3[an]?:\/\//i, '').split('/')
  const prefix = rest.join('/').replace(/^\/+|\/+$/g, '')
  if (isBucketName(bucket) && (type === 'prefix') === (prefix !== '')) return { bucket, prefix }
  const expected = type === 'bucket' ? 'the name of a bucket' : 'bucket/prefix'
  throw new LocalityError('rejected', `${name}: must be ${expected}`)
}

/**
 * The region of a bucket, which every response of S3 names, even without a permission. For other servers, it is the configured region or
 * undefined.
 */
function regionOf(response: HttpResponse, fallback: string | undefined, http: HttpClient): string | undefined {
  const { status, headers, what } = response
  if (!isS3(response) && status < 300)
    throw new LocalityError('invalidResponse', `${what}: the endpoint is not an S3 server`)
  if (status === 404) {
    if (isS3(response)) return 'nowhere'
    throw http.refusal(response, 'the endpoint is not an S3 server')
  }
  const region = headers['x-amz-bucket-region']
  if (region !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(region)) return region
  if (status === 200 || (status === 403 && fallback !== undefined && isS3(response))) return fallback
  throw http.refusal(response)
}

/** Whether S3 or a compatible server sent the response. They send `x-amz-` headers; an error page of a proxy has none. */
function isS3({ headers }: HttpResponse): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-amz-'))
}

function listUrl(bucket: string, { prefix }: Place, token: string | undefined): string {
  // The slash selects whole segments: `raw` must not include `raw-2`.
  const parameters = {
    'list-type': '2',
    ...(token !== undefined && { 'continuation-token': token }),
    ...(prefix !== '' && { prefix: `${prefix}/` }),
  }
  const query = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `${bucket}/?${query.join('&')}`
}
