/** Tests redirects: one to the same server is followed, and no credential reaches another server. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { locate, openPlugin, queryError } from '../locality.suite.ts'
import type { LocalityPlugin } from '../locality.ts'
import { DataServer, type Serve } from './data-server.fake.ts'

const table = { type: 'table', name: 'lake.db.t', attributes: {} }
let server: DataServer
/** Another server, which must receive no request. */
let other: DataServer
let plugin: LocalityPlugin | undefined

beforeEach(async () => {
  server = await new DataServer(() => ({})).listen()
  other = await new DataServer(() => ({ body: { metadata: { location: 's3://evil/t' }, access_token: 'x' } })).listen()
})
afterEach(async () => {
  await plugin?.close()
  plugin = undefined
  await server.close()
  await other.close()
})

function open(system: string, auth: object = { type: 'bearer', token: 'secret' }, more: object = {}): LocalityPlugin {
  plugin = openPlugin({ system, endpoint: { url: server.url, auth }, ...more })
  return plugin
}

const moved = (status: number, location: string) => ({ status, headers: { location } })
const found: Serve = ({ path }) =>
  path.startsWith('/moved') ? { body: { metadata: { location: 's3://lake/t' } } } : moved(302, '/moved')

describe('a redirect to the same server', () => {
  test.each([301, 302, 303, 307, 308])('with %i is followed, with the credentials', async (status) => {
    server.serve = ({ path }) =>
      path === '/moved' ? { body: { metadata: { location: 's3://lake/t' } } } : moved(status, '/moved?a=b')
    expect(await locate(open('amoro'), table)).toMatchObject({ location: 's3://lake/t' })
    expect(server.requests.map(({ url, headers }) => [url.slice(0, 10), headers.authorization])).toEqual([
      ['/api/icebe', 'Bearer secret'],
      ['/moved?a=b', 'Bearer secret'],
    ])
  })

  test('with a full URL is followed', async () => {
    server.serve = (request) => (request.path === '/moved' ? found(request) : moved(302, `${server.url}/moved`))
    expect(await locate(open('amoro'), table)).toMatchObject({ location: 's3://lake/t' })
  })

  test('is followed only once', async () => {
    server.serve = () => moved(302, '/again')
    expect((await queryError(locate(open('amoro'), table))).code).toBe('rejected')
    expect(server.paths.slice(1)).toEqual(['GET /again'])
  })
})

describe('a redirect to another server', () => {
  test.each([301, 302, 303, 307, 308])('with %i causes an error with its name', async (status) => {
    server.serve = () => moved(status, `${other.url}/v1/config?token=a`)
    const error = await queryError(locate(open('amoro'), table))
    expect(error.code).toBe('rejected')
    expect(error.message).toMatch(new RegExp(`HTTP ${status} \\(redirects to ${other.url}\\)$`))
    expect(other.requests).toEqual([])
  })

  test.each([
    { name: 'another port', location: () => other.url },
    { name: 'the same server with https', location: () => server.url.replace('http:', 'https:') },
    { name: 'another name of the same server', location: () => server.url.replace('127.0.0.1', 'localhost') },
    { name: 'the same server with a user name', location: () => server.url.replace('://', '://user@') },
    { name: 'a URL without a scheme', location: () => other.url.replace('http:', '') },
    { name: 'an invalid URL', location: () => 'http://[' },
    { name: 'a file', location: () => 'file:///etc/passwd' },
  ])('$name is not followed', async ({ location }) => {
    server.serve = () => moved(307, location())
    expect((await queryError(locate(open('amoro'), table))).code).toBe('rejected')
    expect([server.requests.length, other.requests]).toEqual([1, []])
  })
})

const sigv4 = { type: 'sigv4', accessKeyId: 'id', secretAccessKey: 'secret' }

test.each([
  { system: 'amoro', auth: { type: 'apikey', apiKey: 'k', secret: 's' }, query: table },
  { system: 'iceberg-rest', auth: { type: 'basic', username: 'u', password: 'p' }, query: table },
  { system: 'iceberg-rest', auth: sigv4, query: table },
  { system: 's3', auth: sigv4, query: { type: 'prefix', name: 'bucket/a', attributes: {} } },
  { system: 'webhdfs', auth: { type: 'delegation', token: 't' }, query: { type: 'path', name: '/a', attributes: {} } },
])(
  '$system with $auth.type sends requests only to its own server, despite redirects',
  async ({ system, auth, query }) => {
    for (const status of [301, 307, 400]) {
      const region = { 'x-amz-bucket-region': 'eu-west-1' }
      server.serve = () => ({ status, headers: { location: `${other.url}/a`, ...region } })
      await locate(open(system, auth), query).catch(() => undefined)
      await plugin?.close()
    }
    expect(server.requests.length).toBeGreaterThan(0)
    expect(other.requests).toEqual([])
  },
)

describe('a token endpoint', () => {
  const oauth2 = () => ({ type: 'oauth2', clientSecret: 'secret', tokenUrl: `${server.url}/token` })

  test.each([302, 307, 308])('that redirects with %i gets no second request', async (status) => {
    server.serve = () => moved(status, `${other.url}/token`)
    expect((await queryError(locate(open('iceberg-rest', oauth2()), table))).code).toBe('unauthorized')
    expect([server.paths, other.requests]).toEqual([['POST /token'], []])
  })

  test.each(['a b', 'a\nb', 'ä', 'x'.repeat(20_000), 7, null])(
    'whose token is %j is an invalid response',
    async (token) => {
      server.serve = () => ({ body: { access_token: token } })
      expect((await queryError(locate(open('iceberg-rest', oauth2()), table))).code).toBe('invalidResponse')
      expect(server.paths).toEqual(['POST /token'])
    },
  )
})

test.each([{ toString: 1 }, [], null, 'soon', -1])('a token with expires_in %j is used', async (life) => {
  const auth = { type: 'oauth2', clientSecret: 'secret', tokenUrl: `${server.url}/token` }
  server.serve = ({ path }) => {
    if (path === '/token') return { body: { access_token: 'abc', expires_in: life } }
    return { body: path === '/v1/config' ? { defaults: {} } : { metadata: { location: 's3://lake/t' } } }
  }
  expect(await locate(open('iceberg-rest', auth), table)).toMatchObject({ location: 's3://lake/t' })
})

test('other servers, tokens and credentials in responses of a catalog have no effect', async () => {
  const hints = {
    uri: other.url,
    'oauth2-server-uri': `${other.url}/token`,
    's3.endpoint': other.url,
    's3.signer.uri': other.url,
    token: 'evil',
    credential: 'a:b',
    'rest.sigv4-enabled': 'true',
    'header.authorization': 'Bearer evil',
  }
  server.serve = ({ path }) =>
    path === '/v1/config'
      ? { body: { defaults: hints, overrides: { ...hints, prefix: `//${other.url}/@` } } }
      : { body: { 'metadata-location': other.url, config: hints, metadata: { location: other.url } } }
  expect(await locate(open('iceberg-rest'), table)).toMatchObject({ location: other.url })
  expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer secret', 'Bearer secret'])
  expect(other.requests).toEqual([])
})
