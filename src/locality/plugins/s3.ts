/** The plugin `s3`: finds the region of a bucket, and how much lies below a prefix, at S3 or a store that speaks like it. */
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
    /** Default: yes, except at AWS. */
    pathStyle: { type: 'boolean' },
    /** `none`: nothing is listed. */
    size: { enum: ['list', 'none'] },
    /** A page is up to 1000 objects, and costs; beyond them the size is "at least". */
    maxPages: { type: 'integer', minimum: 1, maximum: 1000 },
  },
  open: openS3,
}

interface Place {
  bucket: string
  /** Without a slash at either end; empty for the whole bucket. */
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
      // Reading a bucket's region needs no permission; listing the bucket does.
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
    return { bytes, objects }
  }

  return {
    system: config.system,
    locate: async (query, signal): Promise<LocalityAnswer> => {
      const place = parsePlace(query)
      const response = await http.send({ method: 'HEAD', url: `${urlOf(place)}/` }, signal)
      const region = regionOf(response, fallback as string | undefined, http)
      if (region === 'nowhere') return { kind: 'nowhere', reason: `there is no bucket ${place.bucket}` }
      const listed = size === 'none' ? undefined : await list(place, region, signal)
      if (listed?.objects === 0 && place.prefix !== '') {
        return { kind: 'nowhere', reason: `bucket ${place.bucket} has nothing below ${place.prefix}` }
      }
      const uri = `s3://${place.bucket}${place.prefix === '' ? '' : `/${place.prefix}`}`
      const location = withRegions(uri, region === undefined ? [] : [region])
      return { kind: 'located', location, ...(listed !== undefined && { bytes: listed.bytes }) }
    },
    health: async (signal) => {
      // Any user may list buckets. A server that refuses is as healthy as one that answers.
      const response = await http.send({ method: 'GET', url: `${base}/` }, signal)
      if (!isS3(response)) throw new LocalityError('invalidResponse', `${response.what}: the server does not speak S3`)
    },
    close: () => http.close(),
  }
}

/** Types: `bucket`, whose name is one, and `prefix`: `bucket/prefix`; either may be written as a URI. */
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
 * A bucket's region: every answer of S3 names it, whatever the permission. Stores that do not have the configured one, or none.
 */
function regionOf(response: HttpResponse, fallback: string | undefined, http: HttpClient): string | undefined {
  const { status, headers, what } = response
  if (!isS3(response) && status < 300)
    throw new LocalityError('invalidResponse', `${what}: the server does not speak S3`)
  if (status === 404) {
    if (isS3(response)) return 'nowhere'
    throw http.refusal(response, 'the server does not speak S3')
  }
  const region = headers['x-amz-bucket-region']
  if (region !== undefined && /^[A-Za-z0-9-]{1,64}$/.test(region)) return region
  if (status === 200 || (status === 403 && fallback !== undefined && isS3(response))) return fallback
  throw http.refusal(response)
}

/** S3 and all that speak like it number their answers; a proxy's page does not. */
function isS3({ headers }: HttpResponse): boolean {
  return Object.keys(headers).some((name) => name.startsWith('x-amz-'))
}

function listUrl(bucket: string, { prefix }: Place, token: string | undefined): string {
  // Whole segments: `raw` must not count what lies below `raw-2`.
  const parameters = {
    'list-type': '2',
    ...(token !== undefined && { 'continuation-token': token }),
    ...(prefix !== '' && { prefix: `${prefix}/` }),
  }
  const query = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `${bucket}/?${query.join('&')}`
}
