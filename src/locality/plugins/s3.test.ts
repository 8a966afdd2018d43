/** Tests the plugin s3 with responses of S3 and compatible servers. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataServer, type Serve } from '../http/data-server.fake.ts'
import { describePlugin, errorOf, locate, openPlugin } from './plugin.suite.ts'
import type { LocalityPlugin } from './plugin.ts'

const S3 = { 'x-amz-request-id': '4442587FB7D0A2F9' }
const IN_IRELAND = { ...S3, 'x-amz-bucket-region': 'eu-west-1' }
const query = { type: 'prefix', name: 'wh-dc1/raw', attributes: {} }

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
  located: good,
  wantLocated: { kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1', bytes: 30 },
  nowhere: () => ({ status: 404, headers: S3 }),
  errorInside: { headers: S3, body: '<?xml version="1.0"?><Error><Code>InternalError</Code></Error>' },
  wantErrorInside: 'invalidResponse',
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

  function open(extra: Record<string, unknown> = {}, auth?: object): LocalityPlugin {
    plugin = openPlugin({ system: 's3', endpoint: { url: server.url, auth }, extra })
    return plugin
  }

  test.each([200, 301, 400, 403])('reads the region from a response with status %i', async (status) => {
    server.serve = () => ({ status, headers: IN_IRELAND })
    expect(await locate(open({ size: 'none' }), query)).toEqual({
      kind: 'located',
      location: 's3://wh-dc1/raw?region=eu-west-1',
    })
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
    expect((await errorOf(locate(open({ size: 'none' }), query))).code).toBe('unauthorized')
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

  test('an empty prefix is nowhere, an empty bucket is not', async () => {
    server.serve = ({ method }) => (method === 'HEAD' ? { headers: IN_IRELAND } : { headers: S3, body: listing([]) })
    expect(await locate(open(), query)).toMatchObject({ kind: 'nowhere' })
    expect(await locate(open(), { ...query, type: 'bucket', name: 's3a://wh-dc1/' })).toMatchObject({ bytes: 0 })
  })

  test('a bucket that forbids a listing is located', async () => {
    server.serve = ({ method }) => (method === 'HEAD' ? { headers: IN_IRELAND } : { status: 403, headers: S3 })
    expect(await locate(open(), query)).toEqual({ kind: 'located', location: 's3://wh-dc1/raw?region=eu-west-1' })
  })

  test('404 of a server that is not S3 is rejected', async () => {
    server.serve = () => ({ status: 404 })
    expect((await errorOf(locate(open(), query))).code).toBe('rejected')
  })

  test.each([
    { type: 'prefix', name: 'wh-dc1' },
    { type: 'bucket', name: 'wh-dc1/raw' },
    { type: 'bucket', name: 'a..b' },
    { type: 'bucket', name: '' },
    { type: 'bucket', name: 'evil.example.com:80@x' },
  ])('rejects the $type "$name"', async ({ type, name }) => {
    expect((await errorOf(locate(open(), { ...query, type, name }))).code).toBe('rejected')
    expect(server.requests).toEqual([])
  })

  test('signs with the region of the bucket after it is known, and sends anonymous requests without keys', async () => {
    const keys = { type: 'sigv4', accessKeyId: 'AKID', secretAccessKey: 'hunter2', sessionToken: 'session' }
    await locate(open({}, keys), query)
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
