/**
 * The plugin `s3`: finds the region of a bucket and the size of a prefix, on S3 or a compatible server. An answer needs the response to HEAD
 * for the bucket, and a proof that the server speaks S3. The listing is optional: it only measures, and finds prefixes without objects.
 */
import { defined } from '../../base/json.ts'
import { withoutTrailingSlashes } from '../../base/net/url-encoding.ts'
import type { Clock } from '../../base/time/clock.ts'
import { elementText } from '../../base/xml.ts'
import { AWS_ENDPOINT as AWS, bucketUrl, isBucketName } from '../../s3/address.ts'
import { listsPrefix, parseListing } from '../../s3/listing.ts'
import { hasS3Headers, isS3Body, listsBuckets, providerOfHost, regionIn, s3ErrorCode } from '../../s3/server.ts'
import { mapsRegion } from '../answers/clusters.ts'
import { withoutRegions, withRegions } from '../answers/location.ts'
import type { SystemConfig, SystemDefinition } from '../config/config.ts'
import { type HttpRequest, type HttpResponse, openHttpClient } from '../http/http.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin, type LocalityQuery, optional } from '../locality.ts'

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

const NO_S3 = 'the endpoint is not an S3 server'
const FOUND_BY_GET = 'GET finds the bucket; see whether a proxy answers HEAD'
/**
 * Ends of names that AWS allows no bucket of the usual kind. These are access points, and buckets of tables, of directories and on Outposts,
 * which have endpoints of their own (docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html).
 */
const RESERVED = /(?:\.mrap|-s3alias|--(?:ol|op|x|table)-s3)$/i
/** In the hosts of these endpoints. */
const RESERVED_HOST = /s3express-|s3-outposts|s3-object-lambda|s3tables|accesspoint/
const OTHER_ENDPOINT =
  'the end of the name is reserved for access points and buckets with their own endpoint; name it in endpoint.url'
const IGNORES_BUCKET = 'the server ignores the bucket in its host name; set extra.pathStyle to true'

/** Ceph answers JSON to a request that accepts it. */
const AS_XML = { accept: 'application/xml' }

interface Place {
  bucket: string
  /** Without a slash at the end; empty for the whole bucket. */
  prefix: string
  /** Whether the prefix can be the key of one object: a name with a slash at its end cannot. */
  mayBeObject: boolean
}

/** The size of a place: the objects of the pages that were read. */
interface Listed {
  bytes: number
  objects: number
  /** Whether these are all objects. */
  isComplete: boolean
}

function openS3(config: SystemConfig, clock: Clock): LocalityPlugin {
  const http = openHttpClient(config, clock)
  const base = config.endpoint.urls[0] ?? AWS
  const { pathStyle = base !== AWS, size = 'list', maxPages = 10 } = config.extra
  const urlOf = (bucket: string, region?: string) => bucketUrl(base, bucket, region, pathStyle === true)
  const send = (request: HttpRequest, signal: AbortSignal) => http.send({ headers: AS_XML, ...request }, signal)

  async function listPage(bucket: string, prefix: string, token: string | undefined, { region, signal }: Reading) {
    const url = listUrl(urlOf(bucket, region), prefix, token)
    const response = await send(defined({ method: 'GET', url, region }), signal)
    if (response.status !== 200) throw http.refusal(response, readRefusal(response.text).detail)
    const page = parseListing(response.text)
    // A server that ignores the prefix, or a cache that ignores the query, lists other objects.
    if (page?.objects.every(({ key }) => key.startsWith(prefix)) && listsPrefix(response.text, prefix)) return page
    throw new LocalityError('invalidResponse', `${response.what}: the answer is not the listing of the prefix`)
  }

  /** Lists the objects below a prefix. The slash at its end selects whole segments: `raw` must not include `raw-2`. */
  async function list({ bucket, prefix }: Place, reading: Reading): Promise<Listed> {
    const listed = { bytes: 0, objects: 0, isComplete: false }
    let token: string | undefined
    for (let page = 0; page < Number(maxPages) && !listed.isComplete; page++) {
      const below = prefix === '' ? '' : `${prefix}/`
      const { objects, next } = (await optional(listPage(bucket, below, token, reading))) ?? {}
      // A server that repeats a page ignores the token: its objects are counted already.
      if (objects === undefined || (next !== undefined && next === token)) break
      for (const { size: bytesOfOne } of objects) listed.bytes += bytesOfOne
      listed.objects += objects.length
      listed.isComplete = next === undefined
      token = next
    }
    return listed
  }

  /** Measures a place. Without objects below a prefix, the prefix may be the key of one object, which is the first one that begins with it. */
  async function measure(place: Place, reading: Reading): Promise<Listed> {
    const below = await list(place, reading)
    const isEmpty = below.isComplete && below.objects === 0
    if (!isEmpty || place.prefix === '' || !place.mayBeObject) return below
    const page = await optional(listPage(place.bucket, place.prefix, undefined, reading))
    if (page === undefined) return { ...below, isComplete: false }
    const object = page.objects.find(({ key }) => key === place.prefix)
    return object === undefined ? below : { bytes: object.size, objects: 1, isComplete: true }
  }

  /** Whether the bucket exists. Throws when the responses do not prove either, or when they are not those of an S3 server. */
  async function exists(head: HttpResponse, bucket: string, signal: AbortSignal): Promise<boolean> {
    const isAbsent = head.status === 404
    // Only a provider is known to read a bucket in its host name.
    const isNamed = pathStyle === true || isOfProvider(config)
    if (!isAbsent && !isRefused(head, config) && isNamed && hasS3Headers(head.headers)) return true
    // The response to HEAD has no body with a reason, and some servers have no headers of their own.
    const probe = await send({ method: 'GET', url: `${urlOf(bucket)}/?location` }, signal)
    if (isAbsent) requireAbsence(head, probe, bucket)
    else requirePresence(head, probe)
    return !isAbsent
  }

  /** Throws unless two responses prove that there is no such bucket. */
  function requireAbsence(head: HttpResponse, probe: HttpResponse, bucket: string): void {
    if (probe.status < 300) throw http.refusal(head, FOUND_BY_GET)
    if (RESERVED.test(bucket) && !RESERVED_HOST.test(base)) throw http.refusal(head, OTHER_ENDPOINT)
    const { code, detail, isAboutBucket } = readRefusal(probe.text)
    if (code === 'NoSuchBucket' || (isAboutBucket && hasS3Headers(head.headers))) return
    throw http.refusal(head, detail ?? NO_S3)
  }

  /** Throws unless two responses prove that the bucket exists, in a server that speaks S3. */
  function requirePresence(head: HttpResponse, probe: HttpResponse): void {
    const { detail, isAboutBucket } = readRefusal(probe.text)
    if (isRefused(head, config) && !(isAboutBucket && isInKnownRegion(head, config))) throw http.refusal(head, detail)
    if (listsBuckets(probe.text)) throw new LocalityError('rejected', `${head.what}: ${IGNORES_BUCKET}`)
    if ([head, probe].some(({ headers }) => hasS3Headers(headers)) || isS3Body(probe.text)) return
    throw head.status < 300 ? new LocalityError('invalidResponse', `${head.what}: ${NO_S3}`) : http.refusal(head, NO_S3)
  }

  return {
    system: config.system,
    locate: async (query, signal): Promise<LocalityAnswer> => {
      const { bucket, prefix, mayBeObject } = parsePlace(query)
      const head = await send({ method: 'HEAD', url: `${urlOf(bucket)}/` }, signal)
      if (!(await exists(head, bucket, signal))) return { kind: 'nowhere', reason: `there is no bucket ${bucket}` }
      const named = regionIn(head.headers)
      const region = regionOfData(named, config)
      // A key may begin with a slash. Clients of Hadoop drop it from a name, so the name may also mean a key without it.
      for (const one of new Set([prefix, prefix.replace(/^\/+/, '')])) {
        const place = { bucket, prefix: one, mayBeObject }
        const listed = size === 'none' ? undefined : await measure(place, { region: named, signal })
        if (listed?.objects === 0 && listed.isComplete && one !== '') continue
        const uri = withoutRegions(`s3://${bucket}${one === '' ? '' : `/${one}`}`)
        const location = withRegions(uri, region ? [region] : [])
        return { kind: 'located', location, ...listedSize(listed) }
      }
      return { kind: 'nowhere', reason: `bucket ${bucket} has no object ${prefix}, and nothing below it` }
    },
    health: async (signal) => {
      // Any user may list buckets. A server that rejects this is healthy too.
      const response = await send({ method: 'GET', url: `${base}/` }, signal)
      if (!hasS3Headers(response.headers) && !isS3Body(response.text))
        throw new LocalityError('invalidResponse', `${response.what}: ${NO_S3}`)
    },
    close: () => http.close(),
  }
}

interface Reading {
  /** The region that the server names, for the signature and the host at AWS. */
  region: string | undefined
  signal: AbortSignal
}

/** The size of the listed objects, which is a minimum if there are more; unknown if none is listed and there may be some. */
function listedSize(listed: Listed | undefined): { bytes?: number; bytesAreMinimum?: true } {
  if (listed === undefined || (listed.objects === 0 && !listed.isComplete)) return {}
  return defined({ bytes: listed.bytes, bytesAreMinimum: listed.isComplete ? undefined : true })
}

/**
 * The region of the data. A server that belongs to a provider names it. Other servers name any region, such as us-east-1, so the configured
 * region precedes it. Without one, a region counts only if the configuration maps it to clusters.
 */
function regionOfData(named: string | undefined, { extra, endpoint, regionMapping }: SystemConfig): string | undefined {
  const { region } = extra as { region?: string }
  if (isOfProvider({ extra, endpoint })) return named ?? region
  return region ?? (named !== undefined && mapsRegion(named, { regionMapping }) ? named : undefined)
}

function isOfProvider({ extra, endpoint }: Pick<SystemConfig, 'extra' | 'endpoint'>): boolean {
  const ofHost = endpoint.urls.some((url) => providerOfHost(new URL(url).hostname) !== undefined)
  return ofHost || extra['provider'] !== undefined
}

/** Whether the server refuses a request about a bucket, and does not prove with a region that it has this bucket. */
function isRefused({ status, headers }: HttpResponse, config: SystemConfig): boolean {
  return status >= 300 && !isRegionProof(headers, config)
}

/**
 * Whether a response proves with a region that the bucket exists. The region of a bucket is public, so S3 names it in every response. MinIO
 * names its own region, also for buckets that it does not have.
 */
function isRegionProof(headers: HttpResponse['headers'], config: SystemConfig): boolean {
  return regionIn(headers) !== undefined && (isOfProvider(config) || headers['server'] === 'AmazonS3')
}

/** Whether a refused request is about a bucket in a known region. At servers of no provider, all buckets are in the configured region. */
function isInKnownRegion({ status, headers }: HttpResponse, { extra }: SystemConfig): boolean {
  return regionIn(headers) !== undefined || (status === 403 && extra['region'] !== undefined)
}

/** Parses the name of a query. The type `bucket` has a bucket as name, the type `prefix` has `bucket/prefix`. Both may be URIs of S3. */
function parsePlace({ type, name }: LocalityQuery): Place {
  if (type !== 'bucket' && type !== 'prefix') {
    throw new LocalityError('rejected', `${type}: must be bucket or prefix`)
  }
  const [, scheme, user, path = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?([^/]*@)?(.*)$/is.exec(name) ?? []
  if (user !== undefined) throw new LocalityError('rejected', 'the name of a bucket must not have a user')
  if (scheme !== undefined && !/^s3[an]?$/i.test(scheme)) {
    throw new LocalityError('rejected', `${name}: must be a name of S3, not one of ${scheme}; use s3:// or no scheme`)
  }
  const [bucket = '', ...rest] = path.split('/')
  const prefix = withoutTrailingSlashes(rest.join('/'))
  const mayBeObject = !path.endsWith('/')
  if (isBucketName(bucket) && (type === 'prefix') === (prefix !== '')) return { bucket, prefix, mayBeObject }
  const expected = type === 'bucket' ? 'the name of a bucket' : 'bucket/prefix'
  throw new LocalityError('rejected', `${name}: must be ${expected}`)
}

function listUrl(bucket: string, prefix: string, token: string | undefined): string {
  const parameters = defined({
    'list-type': '2',
    'continuation-token': token,
    prefix: prefix || undefined,
  })
  const query = Object.entries(parameters).map(([key, value]) => `${key}=${encodeURIComponent(value)}`)
  return `${bucket}/?${query.join('&')}`
}

/** The remedies, by the code of S3. */
const REMEDIES: Readonly<Record<string, string>> = {
  InvalidAccessKeyId: 'correct accessKeyId of endpoint.auth',
  SignatureDoesNotMatch: 'correct secretAccessKey of endpoint.auth',
  ExpiredToken: 'renew sessionToken of endpoint.auth',
  InvalidToken: 'renew sessionToken of endpoint.auth',
  RequestTimeTooSkewed: 'synchronize the clock of the node with that of the server',
  AuthorizationHeaderMalformed: 'set endpoint.auth.region to the region of the server',
  // A code of OSS, which has every bucket in its own host name.
  SecondLevelDomainForbidden: 'set extra.pathStyle to false',
  // The request was one for an object.
  NoSuchKey: 'endpoint.url must not have the name of a bucket',
}

/** The codes of a request that is refused because of the bucket. Without a code, the reason is unknown. */
const ABOUT_BUCKET: ReadonlySet<string | undefined> = new Set([
  'AccessDenied',
  'AllAccessDisabled',
  'PermanentRedirect',
  'TemporaryRedirect',
  undefined,
])

const ENDPOINT = /^[a-z0-9.-]{1,253}$/i

interface S3Refusal {
  code: string | undefined
  /** For the message of an error; undefined if the body is no error of S3. */
  detail: string | undefined
  /** Whether the server knows the bucket at this endpoint. With invalid credentials, it refuses every name. */
  isAboutBucket: boolean
}

/** Reads the body of a refused request. OSS and S3 name another endpoint for a bucket of another region. */
function readRefusal(xml: string): S3Refusal {
  const code = s3ErrorCode(xml)
  const endpoint = code === undefined ? undefined : elementText(xml, 'Endpoint')
  const isElsewhere = endpoint !== undefined && ENDPOINT.test(endpoint)
  const elsewhere = isElsewhere ? `the bucket is at ${endpoint}; name it in endpoint.url` : undefined
  const remedy = elsewhere ?? (code !== undefined && Object.hasOwn(REMEDIES, code) ? REMEDIES[code] : undefined)
  return {
    code,
    detail: remedy === undefined ? code : `${code}; ${remedy}`,
    isAboutBucket: !isElsewhere && ABOUT_BUCKET.has(code),
  }
}
