/** Tests the plugin s3 with responses of S3 and compatible servers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '../../base/json.ts'
import { type DataAnswer, DataServer, type Serve } from '../http/data-server.fake.ts'
import { describePlugin, locate, openPlugin, queryError } from '../locality.suite.ts'
import type { LocalityPlugin } from '../locality.ts'

const S3 = { 'x-amz-request-id': '4442587FB7D0A2F9' }
const IN_IRELAND = { ...S3, 'x-amz-bucket-region': 'eu-west-1' }
const query = { type: 'prefix', name: 'wh-dc1/raw', attributes: {} }

/** At a server of a provider, the region in its responses is where the bucket is. */
const AT_PROVIDER = { extra: { provider: 'aws' } }
const OTHER_NAMES = [
  'gs://wh-dc1/raw',
  'oss://wh-dc1/raw',
  'cosn://wh-dc1/raw',
  'hdfs://wh-dc1/raw',
  'file:///wh-dc1/raw',
  'https://wh-dc1.s3.amazonaws.com/raw',
  'abfss://wh-dc1@account.dfs.core.windows.net/raw',
  'arn:aws:s3:::wh-dc1/raw',
  's3:///wh-dc1/raw',
  's3://key:hunter2@wh-dc1/raw',
  'key:hunter2@wh-dc1/raw',
]

const error = (code: string) => `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`

/** The bucket exists, and its listing has this response. */
function whenListed(answer: DataAnswer): Serve {
  return ({ method }) => (method === 'HEAD' ? { headers: IN_IRELAND } : answer)
}

function listing(sizes: number[], next?: string): string {
  const contents = sizes.map((size, i) => `<Contents><Key>raw/&lt;Size&gt;${i}</Key><Size>${size}</Size></Contents>`)
  const rest = next === undefined ? '' : `<NextContinuationToken>${next}</NextContinuationToken>`
  return `<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>wh-dc1</Name>${rest}
<IsTruncated>${next !== undefined}</IsTruncated>${contents.join('')}</ListBucketResult>`
}

const good: Serve = ({ method, path }) => {
  if (path === '/') return { status: 403, headers: S3 }
  return method === 'HEAD' ? { headers: IN_IRELAND } : { headers: S3, body: listing([10, 20]) }
}

describePlugin({
  system: 's3',
  query,
  config: AT_PROVIDER,
  otherNames: OTHER_NAMES,
  located: good,
  wantLocated: { kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1', bytes: 30 },
  isOptional: ({ method }) => method === 'GET',
  unmeasured: {
    'an error in the body': whenListed({ body: error('InternalError') }),
    'a listing without sizes': whenListed({ body: listing([]).replace('</Name>', '</Name><Contents></Contents>') }),
    'a redirect to another region': whenListed({ status: 301, headers: S3, body: error('PermanentRedirect') }),
    'a listing that is not allowed': whenListed({ status: 403, headers: S3, body: error('AccessDenied') }),
  },
  nowhere: () => ({ status: 404, headers: S3 }),
  unproven: {
    'a 404 of CloudFront': () => ({ status: 404, headers: { 'x-amz-cf-id': 'a', 'x-amz-cf-pop': 'b' } }),
    'a 404 of an API gateway': () => ({ status: 404, headers: { 'x-amzn-requestid': 'a', 'x-amz-apigw-id': 'b' } }),
    'a redirect without a region': () => ({ status: 301, headers: S3 }),
    'a request that is not allowed, without a region': () => ({ status: 403, headers: S3 }),
  },
})

/** A server without headers of its own. It proves in the body of a further response that it speaks S3. */
const plain: Serve = ({ method, path, query: parameters }) => {
  if (method === 'HEAD') return {}
  if (path === '/') return { status: 403, body: error('AccessDenied') }
  return { body: parameters.has('location') ? '<LocationConstraint/>' : listing([10, 20]) }
}

describePlugin({
  system: 's3',
  query,
  config: { extra: { region: 'dc1' } },
  otherNames: OTHER_NAMES,
  located: plain,
  wantLocated: { kind: 'located', location: 's3://wh-dc1/raw?region=dc1', bytes: 30 },
  isOptional: ({ query: parameters }) => parameters.has('list-type'),
  nowhere: () => ({ status: 404, body: error('NoSuchBucket') }),
  unproven: {
    'a 404 that does not name the bucket': () => ({ status: 404, body: error('NoSuchKey') }),
    'a 404 with the error inside of HTML': () => ({ status: 404, body: `<html>${error('NoSuchBucket')}</html>` }),
    'a server that answers everything': () => ({ body: 'ok' }),
  },
  errorInside: { answer: { body: { error: 'NoSuchBucket' } }, want: 'invalidResponse' },
})

describe('the plugin s3', () => {
  let server: DataServer
  let plugin: LocalityPlugin | undefined

  beforeEach(async () => {
    server = await new DataServer(good).listen()
  })
  afterEach(async () => {
    await plugin?.close()
    plugin = undefined
    await server.close()
  })

  function open(extra: Record<string, unknown> = AT_PROVIDER.extra, auth?: object, more: object = {}): LocalityPlugin {
    plugin = openPlugin({ system: 's3', endpoint: { url: server.url, auth }, extra, ...more })
    return plugin
  }

  test.each([200, 301, 400, 403])('reads the region from a response with status %i', async (status) => {
    server.serve = () => ({ status, headers: IN_IRELAND })
    expect(await locate(open({ size: 'none', provider: 'aws' }), query)).toEqual({
      kind: 'located',
      location: 's3://wh-dc1/raw?region=eu-west-1',
    })
  })

  const NAMED = 's3://wh-dc1/raw?region=us-east-1'
  test.each([
    { name: 'is ignored', extra: {}, want: 's3://wh-dc1/raw' },
    { name: 'is that of its provider', extra: { provider: 'aws', region: 'dc1' }, want: NAMED },
    { name: 'yields to the configured one', extra: { region: 'dc1' }, want: 's3://wh-dc1/raw?region=dc1' },
    { name: 'counts if a mapping explains it', regionMapping: { 'US-East-1': ['member2'] }, want: NAMED },
    { name: 'is ignored by another mapping', regionMapping: { dc1: ['member2'] }, want: 's3://wh-dc1/raw' },
  ])('the region that a server names, such as MinIO, $name', async ({ extra = {}, regionMapping, want }) => {
    server.serve = () => ({ headers: { ...S3, 'x-amz-bucket-region': 'us-east-1', server: 'MinIO' } })
    const opened = open({ size: 'none', ...extra }, undefined, { regionMapping })
    expect(await locate(opened, query)).toEqual({ kind: 'located', location: want })
  })

  test.each([
    { header: { 'x-guploader-uploadid': 'ABPt' }, want: 's3://wh-dc1/raw?region=dc1' },
    {
      header: { 'x-oss-request-id': '5', 'x-oss-bucket-region': 'oss-cn-hangzhou' },
      want: 's3://wh-dc1/raw?region=dc1',
    },
    { header: { 'x-cos-request-id': 'N' }, want: 's3://wh-dc1/raw?region=dc1' },
  ])('a server that sends $header has the configured region, and absence is proven', async ({ header, want }) => {
    server.serve = ({ method }) => defined({ headers: header, body: method === 'GET' ? listing([7]) : undefined })
    const opened = open({ region: 'dc1' })
    expect(await locate(opened, query)).toEqual({ kind: 'located', location: want, bytes: 7 })
    await expect(opened.health(new AbortController().signal)).resolves.toBeUndefined()
    expect(server.requests.filter(({ url }) => url.includes('location'))).toEqual([])
    server.serve = () => ({ status: 404, headers: header })
    expect(await locate(opened, query)).toMatchObject({ kind: 'nowhere' })
  })

  test('a server that names no region has the configured one, or none', async () => {
    server.serve = () => ({ status: 200, headers: S3 })
    expect(await locate(open({ size: 'none' }), query)).toMatchObject({ location: 's3://wh-dc1/raw' })
    await plugin?.close()
    server.serve = () => ({ status: 403, headers: S3 })
    expect(await locate(open({ size: 'none', region: 'dc1' }), query)).toMatchObject({
      location: 's3://wh-dc1/raw?region=dc1',
    })
    await plugin?.close()
    expect((await queryError(locate(open({ size: 'none' }), query))).code).toBe('unauthorized')
  })

  test('counts the pages before one that fails, as a minimum', async () => {
    server.serve = ({ method, query: parameters }) => {
      if (method === 'HEAD') return { headers: IN_IRELAND }
      return parameters.has('continuation-token') ? { status: 503 } : { headers: S3, body: listing([5], 'next') }
    }
    expect(await locate(open(), query)).toMatchObject({ bytes: 5, bytesAreMinimum: true })
  })

  /** Lists one object of 7 bytes, as S3 does for a prefix. */
  const withObject =
    (key: string): Serve =>
    ({ method, query: parameters }) => {
      if (method === 'HEAD') return { headers: IN_IRELAND }
      const isListed = key.startsWith(parameters.get('prefix') ?? '')
      return { headers: S3, body: listing(isListed ? [7] : []).replace(/<Key>.*<\/Key>/, `<Key>${key}</Key>`) }
    }

  test.each([
    { key: 'raw', name: 'wh-dc1/raw', want: { kind: 'located', bytes: 7 } },
    { key: 'raw/model.bin', name: 's3a://wh-dc1/raw/model.bin', want: { kind: 'located', bytes: 7 } },
    { key: 'raw-2', name: 'wh-dc1/raw', want: { kind: 'nowhere' } },
    { key: 'raw', name: 'wh-dc1/raw/', want: { kind: 'nowhere' } },
    { key: 'raw/', name: 'wh-dc1/raw', want: { kind: 'located', bytes: 7 } },
  ])('$name of a bucket with the object $key is $want', async ({ key, name, want }) => {
    server.serve = withObject(key)
    expect(await locate(open(), { ...query, name })).toMatchObject(want)
  })

  test('a prefix that may be an object is located while that is unknown', async () => {
    server.serve = (request) => (request.query.get('prefix') === 'raw' ? { status: 503 } : withObject('other')(request))
    expect(await locate(open(), query)).toEqual({ kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1' })
  })

  test('requests XML, since Ceph answers JSON to a request that accepts it', async () => {
    server.serve = (request) => {
      const wantsJson = request.headers.accept?.includes('application/json')
      return wantsJson && request.method === 'GET' ? { headers: S3, body: { Contents: [] } } : good(request)
    }
    expect(await locate(open(), query)).toMatchObject({ bytes: 30 })
  })

  /** A server whose responses to HEAD name no bucket, and whose errors have this body. */
  const refusing =
    (status: number, headers: Record<string, string>, body: string): Serve =>
    ({ method }) =>
      method === 'HEAD' ? { status, headers } : { status, headers, body }
  const ELSEWHERE = '<Error><Code>AccessDenied</Code><Endpoint>oss-cn-beijing.aliyuncs.com</Endpoint></Error>'

  test.each([
    { status: 403, body: error('InvalidAccessKeyId'), want: 'correct accessKeyId of endpoint.auth' },
    { status: 403, body: error('SignatureDoesNotMatch'), want: 'correct secretAccessKey of endpoint.auth' },
    { status: 403, body: error('RequestTimeTooSkewed'), want: 'synchronize the clock' },
    { status: 403, body: error('SecondLevelDomainForbidden'), want: 'set extra.pathStyle to false' },
    { status: 400, body: error('AuthorizationHeaderMalformed'), want: 'set endpoint.auth.region' },
    { status: 400, body: error('ExpiredToken'), want: 'renew sessionToken of endpoint.auth' },
    { status: 403, body: error('UnknownTrouble'), want: '(UnknownTrouble)' },
    { status: 403, body: ELSEWHERE, want: 'the bucket is at oss-cn-beijing.aliyuncs.com; name it in endpoint.url' },
  ])('a response $status with $body does not prove a bucket: $want', async ({ status, body, want }) => {
    // MinIO names its region in every response, also for buckets that it does not have.
    for (const headers of [S3, { ...S3, 'x-amz-bucket-region': 'dc1' }]) {
      server.serve = refusing(status, headers, body)
      const reason = await queryError(locate(open({ region: 'dc1' }), query))
      expect(reason.message).toContain(want)
      await plugin?.close()
    }
  })

  test('a region that AWS names proves the bucket, also through a proxy', async () => {
    server.serve = refusing(400, { ...IN_IRELAND, server: 'AmazonS3' }, error('AuthorizationHeaderMalformed'))
    expect(await locate(open({}, undefined, { regionMapping: { 'eu-west-1': ['m1'] } }), query)).toEqual({
      kind: 'located',
      location: 's3://wh-dc1/raw?region=eu-west-1',
    })
  })

  test.each([error('AccessDenied'), error('AllAccessDisabled'), ''])(
    'a response 403 with "%s" is about a bucket in the configured region',
    async (body) => {
      server.serve = refusing(403, S3, body)
      expect(await locate(open({ region: 'dc1' }), query)).toEqual({
        kind: 'located',
        location: 's3://wh-dc1/raw?region=dc1',
      })
    },
  )

  test.each([
    { body: error('NoSuchBucket'), want: 'nowhere' },
    { body: '', want: 'nowhere' },
    { body: error('AccessDenied'), want: 'nowhere' },
    { body: error('NoSuchKey'), want: 'rejected' },
  ])('a response 404 is about the bucket if the body of GET is "$body": $want', async ({ body, want }) => {
    // With the bucket in endpoint.url, the name is taken for an object in it.
    server.serve = refusing(404, S3, body)
    const answer = await locate(open(), query).catch((reason: unknown) => reason)
    const message = expect.stringContaining('(NoSuchKey; endpoint.url must not have the name of a bucket)')
    expect(answer).toMatchObject(want === 'nowhere' ? { kind: want } : { code: want, message })
  })

  test('a bucket that HEAD does not find, and GET does, is an error', async () => {
    const location = '<LocationConstraint xmlns="http://s3.amazonaws.com/doc/2006-03-01/"/>'
    server.serve = ({ method }) => (method === 'HEAD' ? { status: 404, headers: S3 } : { headers: S3, body: location })
    const reason = await queryError(locate(open(), query))
    expect(reason).toMatchObject({ code: 'rejected', message: expect.stringContaining('GET finds the bucket') })
  })

  test.each(['data--usw2-az1--x-s3', 'm5x.mrap', 'table-1--table-s3', 'lake-a1--op-s3', 'lake-a1-s3alias', 'x--ol-s3'])(
    'a 404 for %s, which is no bucket of this endpoint, does not prove absence',
    async (name) => {
      server.serve = refusing(404, S3, error('NoSuchBucket'))
      const reason = await queryError(locate(open(), { ...query, type: 'bucket', name }))
      expect(reason).toMatchObject({ code: 'rejected', message: expect.stringContaining('reserved for') })
      server.serve = good
      expect(await locate(open({ size: 'none', provider: 'aws' }), { ...query, type: 'bucket', name })).toMatchObject({
        kind: 'located',
      })
    },
  )

  test('a 404 for a directory bucket at its own endpoint proves absence', async () => {
    server.serve = refusing(404, S3, error('NoSuchBucket'))
    plugin = openPlugin({ system: 's3', endpoint: { url: `${server.url}/s3express-usw2-az1` } })
    const name = 'data--usw2-az1--x-s3'
    expect(await locate(plugin, { ...query, type: 'bucket', name })).toMatchObject({ kind: 'nowhere' })
  })

  test.each([
    { listed: 'a b/', want: 'located' },
    { listed: 'a+b/', want: 'nowhere' },
    { listed: 'a%2Bb%2F', want: 'nowhere' },
    { listed: 'a+b', want: 'nowhere' },
    { listed: '', want: 'nowhere' },
  ])('an empty listing of "$listed" instead of "a+b/" makes the prefix $want', async ({ listed, want }) => {
    // A gateway may decode the query twice.
    server.serve = ({ method, query: parameters }) => {
      if (method === 'HEAD') return { headers: IN_IRELAND }
      const prefix = parameters.get('prefix') === 'a+b/' ? listed : ''
      return { headers: S3, body: listing([]).replace('</Name>', `</Name><Prefix>${prefix}</Prefix>`) }
    }
    expect(await locate(open(), { ...query, name: 'wh-dc1/a+b' })).toMatchObject({ kind: want })
  })

  test('a key that looks like a region does not name one', async () => {
    server.serve = () => ({ status: 200, headers: S3 })
    const answer = await locate(open({ size: 'none' }), { ...query, name: 'wh-dc1/raw?region=us-east-1' })
    expect(answer).toEqual({ kind: 'located', location: 's3://wh-dc1/raw%3Fregion=us-east-1' })
  })

  test('a server that ignores the bucket, as one in its host name, is an error', async () => {
    server.serve = ({ method }) => (method === 'HEAD' ? {} : { body: '<ListAllMyBucketsResult/>' })
    const reason = await queryError(locate(open({ region: 'dc1' }), query))
    expect(reason).toMatchObject({ code: 'rejected', message: expect.stringContaining('set extra.pathStyle to true') })
  })

  test('an error without a region has the code of the server', async () => {
    server.serve = refusing(403, S3, error('RequestTimeTooSkewed'))
    const reason = await queryError(locate(open(), query))
    expect(reason.code).toBe('unauthorized')
    expect(reason.message).toMatch(/HTTP 403 \(RequestTimeTooSkewed; synchronize the clock/)
  })

  test('objects that are not below the prefix are not those of the query', async () => {
    server.serve = ({ method }) =>
      method === 'HEAD' ? { headers: IN_IRELAND } : { headers: S3, body: listing([7]).replaceAll('raw/', 'other/') }
    expect(await locate(open(), query)).toEqual({ kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1' })
  })

  test.each([
    {
      key: '/raw/a',
      name: 's3://wh-dc1//raw',
      want: { kind: 'located', location: 's3://wh-dc1//raw?region=eu-west-1' },
    },
    {
      key: 'raw/a',
      name: 's3a://wh-dc1//raw',
      want: { kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1' },
    },
    { key: 'other', name: 's3://wh-dc1//raw', want: { kind: 'nowhere' } },
  ])('$name of a bucket with the object $key is $want', async ({ key, name, want }) => {
    server.serve = withObject(key)
    expect(await locate(open(), { ...query, name })).toMatchObject(want)
  })

  test('counts as many pages as allowed, of whole segments only', async () => {
    server.serve = ({ method, query: parameters }) => {
      if (method === 'HEAD') return { headers: IN_IRELAND }
      const page = Number(parameters.get('continuation-token')?.split('+')[1] ?? 0)
      return { headers: S3, body: listing([1], `a&amp;b+${page + 1}`) }
    }
    expect(await locate(open({ maxPages: 3 }), query)).toMatchObject({ bytes: 3, bytesAreMinimum: true })
    expect(server.requests.slice(1).map(({ url }) => url)).toEqual([
      '/wh-dc1/?list-type=2&prefix=raw%2F',
      '/wh-dc1/?list-type=2&continuation-token=a%26b%2B1&prefix=raw%2F',
      '/wh-dc1/?list-type=2&continuation-token=a%26b%2B2&prefix=raw%2F',
    ])
  })

  test('counts a page that the server repeats only once, since it ignores the token', async () => {
    server.serve = ({ method }) =>
      method === 'HEAD' ? { headers: IN_IRELAND } : { headers: S3, body: listing([5], 'next') }
    expect(await locate(open(), query)).toMatchObject({ bytes: 5, bytesAreMinimum: true })
  })

  test('an empty prefix is nowhere, an empty bucket is not', async () => {
    server.serve = ({ method }) => (method === 'HEAD' ? { headers: IN_IRELAND } : { headers: S3, body: listing([]) })
    expect(await locate(open(), query)).toMatchObject({ kind: 'nowhere' })
    expect(await locate(open(), { ...query, type: 'bucket', name: 's3a://wh-dc1/' })).toMatchObject({ bytes: 0 })
  })

  test('404 of a server that is not S3 is rejected', async () => {
    server.serve = () => ({ status: 404 })
    expect((await queryError(locate(open(), query))).code).toBe('rejected')
  })

  test.each([
    { type: 'prefix', name: 'wh-dc1' },
    { type: 'bucket', name: 'wh-dc1/raw' },
    { type: 'bucket', name: 'a..b' },
    { type: 'bucket', name: '' },
    { type: 'bucket', name: 'evil.example.com:80@x' },
  ])('rejects the $type "$name"', async ({ type, name }) => {
    expect((await queryError(locate(open(), { ...query, type, name }))).code).toBe('rejected')
    expect(server.requests).toEqual([])
  })

  test('signs with the region of the bucket when it is known, or is anonymous', async () => {
    const keys = { type: 'sigv4', accessKeyId: 'AKID', secretAccessKey: 'hunter2', sessionToken: 'session' }
    await locate(open(undefined, keys), query)
    const [head, list] = server.requests.map(({ headers }) => headers)
    expect(head?.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=AKID\/20260101\/us-east-1\/s3\/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/,
    )
    expect(list?.authorization).toContain('/eu-west-1/s3/')
    expect(list?.['x-amz-security-token']).toBe('session')
    await plugin?.close()
    await locate(open(), query)
    expect(server.requests.at(-1)?.headers.authorization).toBeUndefined()
  })
})
