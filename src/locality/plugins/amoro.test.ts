/** Tests the plugin amoro with responses of Amoro, including those of external catalogs. */
import { createHash } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../../base/time/clock.fake.ts'
import { type DataAnswer, DataServer, type Serve } from '../http/data-server.fake.ts'
import { describePlugin, locate, openPlugin, queryError } from '../locality.suite.ts'
import type { LocalityPlugin } from '../locality.ts'

const TABLE = {
  'metadata-location': 's3://your-warehouse-dc1/db/user/metadata/v00821.metadata.json',
  metadata: {
    'format-version': 2,
    location: 's3://your-warehouse-dc1/db/user',
    properties: { owner: 'root', 'write.parquet.compression-codec': 'zstd' },
  },
  config: {},
}
const HEALTHY = { body: { message: 'success', code: 200, result: 'LEADER' } }
/** As Amoro after 0.9 says it. */
const NOT_INTERNAL = notInternal(400)
const query = { type: 'table', name: 'dc1.db.user', attributes: {} }

function notInternal(status: number): DataAnswer {
  const message = 'The catalog is not an iceberg rest catalog'
  return { status, body: { error: { message, type: 'IllegalArgumentException', code: status } } }
}

function amoro(table: Serve): Serve {
  return (request) => (request.path === '/api/ams/v1/health/status' ? HEALTHY : table(request))
}

describePlugin({
  system: 'amoro',
  query,
  located: amoro(() => ({ body: TABLE })),
  wantLocated: { kind: 'located', location: 's3://your-warehouse-dc1/db/user', bytes: 0 },
  nowhere: amoro(() => ({
    status: 404,
    body: { error: { message: 'gone', type: 'NoSuchTableException', code: 404 } },
  })),
  errorInside: { answer: { body: { message: 'Please login first', code: 403 } }, want: 'unauthorized' },
  wantOtherType: 'located',
  otherNames: ['db.user', 's3://dc1.db/user.x', 'dc1..user', 'dc1.db."user'],
  unmeasured: {
    'a table whose snapshot has no size': amoro(() => ({
      body: { metadata: { ...TABLE.metadata, 'current-snapshot-id': 7 } },
    })),
  },
  unproven: {
    'a missing catalog': amoro(() => ({
      status: 404,
      body: { error: { message: 'Catalog dc1 does not exist', type: 'ObjectNotExistsException', code: 404 } },
    })),
    'the same exception with another status': amoro(() => ({
      status: 406,
      body: { error: { type: 'NoSuchTableException', code: 404 } },
    })),
    'a 404 of a framework': amoro(() => ({ status: 404, body: { title: 'Not found', status: 404 } })),
    'a missing file of a table': amoro(() => ({ status: 404, body: { error: { type: 'NotFoundException' } } })),
  },
})

describe('the plugin amoro', () => {
  let server: DataServer
  let plugin: LocalityPlugin | undefined
  const clock = new SkippingClock()

  beforeEach(async () => {
    server = await new DataServer(amoro(() => ({ body: TABLE }))).listen()
  })
  afterEach(async () => {
    await plugin?.close()
    plugin = undefined
    await server.close()
  })

  function open(auth?: Record<string, unknown>): LocalityPlugin {
    plugin = openPlugin({ system: 'amoro', endpoint: { url: server.url, auth } }, clock)
    return plugin
  }

  /** An Amoro server with external catalogs only. */
  function external(details: DataAnswer, tables: DataAnswer = { body: { code: 200, result: [] } }): Serve {
    return ({ path }) => {
      if (path.startsWith('/api/iceberg/rest/')) return NOT_INTERNAL
      return path.endsWith('/details') ? details : tables
    }
  }
  const DETAILS = { body: { message: 'success', code: 200, result: { baseLocation: 'hdfs://ns1/hive/db/user' } } }

  test('locates an internal table with one request, with the path of volcano-global', async () => {
    await locate(open(), query)
    expect(server.requests.map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /api/iceberg/rest/v1/catalogs/dc1/namespaces/db/tables/user?snapshots=refs',
    ])
  })

  test('rejects a branch that the table does not have', async () => {
    const error = await queryError(locate(open(), { ...query, attributes: { ref: 'dev' } }))
    expect([error.code, error.message]).toEqual(['rejected', expect.stringContaining('has no branch or tag dev')])
    expect(await locate(open(), { ...query, attributes: { ref: 'main' } })).toMatchObject({ kind: 'located' })
  })

  test('locates tables of external catalogs with the API of Amoro, and caches the kind', async () => {
    server.serve = external(DETAILS)
    const opened = open()
    expect(await locate(opened, query)).toEqual({ kind: 'located', location: 'hdfs://ns1/hive/db/user' })
    await locate(opened, { ...query, name: 'dc1.db.order' })
    expect(server.paths).toEqual([
      'GET /api/iceberg/rest/v1/catalogs/dc1/namespaces/db/tables/user',
      'GET /api/ams/v1/tables/catalogs/dc1/dbs/db/tables/user/details',
      'GET /api/ams/v1/tables/catalogs/dc1/dbs/db/tables/order/details',
    ])
  })

  test('locates tables of external catalogs of Amoro 0.9 and older, which answers 500', async () => {
    server.serve = (request) =>
      request.path.startsWith('/api/iceberg/rest/') ? notInternal(500) : external(DETAILS)(request)
    expect(await locate(open(), query)).toEqual({ kind: 'located', location: 'hdfs://ns1/hive/db/user' })
  })

  test.each([
    { name: '400 of the web server for a name', status: 400, body: '<h1>Bad Message 400</h1>', want: 'rejected' },
    { name: '400 for another reason', status: 400, body: { error: { message: 'name' } }, want: 'rejected' },
    { name: '500 for another reason', status: 500, body: { error: { message: 'name' } }, want: 'serverError' },
  ])('one $name leaves the catalog internal for other queries', async ({ status, body, want }) => {
    server.serve = amoro(({ path }) => (path.endsWith('a%2Fb') ? { status, body } : { body: TABLE }))
    const opened = open()
    expect((await queryError(locate(opened, { ...query, name: 'dc1.db.a/b' }))).code).toBe(want)
    expect(await locate(opened, query)).toMatchObject({ bytes: 0 })
  })

  test.each([
    { properties: { 'write.data.path': 's3://data/user' }, want: { kind: 'located', location: 's3://data/user' } },
    { properties: { 'write.location-provider.impl': 'org.example.Provider' }, want: { code: 'rejected' } },
    {
      properties: { 'data-file.external-paths': 'oss://a', 'data-file.external-paths.strategy': 'round-robin' },
      want: { code: 'rejected' },
    },
    { properties: 'none', want: { kind: 'located', location: 'hdfs://ns1/hive/db/user' } },
  ])('an external table with the properties $properties is $want', async ({ properties, want }) => {
    server.serve = external({ body: { ...DETAILS.body, result: { ...DETAILS.body.result, properties } } })
    const answer = await locate(open(), query).catch((error: unknown) => error)
    expect(answer).toMatchObject(want)
  })

  test('queries an external catalog as internal again after ten minutes', async () => {
    server.serve = external(DETAILS)
    const opened = open()
    await locate(opened, query)
    clock.advance(600_000)
    server.serve = amoro(() => ({ body: TABLE }))
    expect(await locate(opened, query)).toMatchObject({ location: 's3://your-warehouse-dc1/db/user' })
  })

  test.each([
    { name: 'lists no such table', tables: [{ name: 'user2', type: 'HIVE' }], want: 'nowhere' },
    { name: 'lists the table', tables: [{ name: 'user', type: 'HIVE' }], want: 'serverError' },
    { name: 'lists the table in other capitals', tables: [{ name: 'USER', type: 'HIVE' }], want: 'serverError' },
  ])('code 500 for the details, when Amoro $name: $want', async ({ tables, want }) => {
    server.serve = external({ body: { code: 500, message: 'x' } }, { body: { code: 200, result: tables } })
    const result = await locate(open(), query).then(
      ({ kind }) => kind,
      ({ code }) => code,
    )
    expect(result).toBe(want)
    expect(server.requests.at(-1)?.url).toMatch(/^\/api\/ams\/v1\/catalogs\/dc1\/databases\/db\/tables\?keywords=user&/)
  })

  test.each([
    { name: 'code 403', details: { code: 403, message: 'Signature check failed' }, want: 'unauthorized' },
    { name: 'no location', details: { code: 200, result: {} }, want: 'invalidResponse' },
    { name: 'no code', details: { result: { baseLocation: 's3://b' } }, want: 'invalidResponse' },
    { name: 'code 404', details: { code: 404 }, want: 'rejected' },
  ])('details with $name: $want', async ({ details, want }) => {
    server.serve = external({ body: details })
    expect((await queryError(locate(open(), query))).code).toBe(want)
  })

  test('signs requests to the API with key and secret', async () => {
    server.serve = external(DETAILS)
    await locate(open({ type: 'apikey', apiKey: 'key', secret: 'hunter2' }), query)
    const signature = createHash('md5').update('keyclientlodestonehunter2').digest('hex')
    expect(Object.fromEntries(server.requests.at(-1)?.query ?? [])).toEqual({
      client: 'lodestone',
      apiKey: 'key',
      signature,
    })
  })

  test('sends user and password', async () => {
    await locate(open({ type: 'Basic', username: 'admin', password: 'hunter2' }), query)
    expect(server.requests[0]?.headers.authorization).toBe(`Basic ${btoa('admin:hunter2')}`)
  })

  test('is unhealthy for HTTP 200 with an error code from the health endpoint', async () => {
    server.serve = () => ({ body: { code: 403, message: 'Please login first' } })
    expect((await queryError(open().health(new AbortController().signal))).code).toBe('unauthorized')
    expect(server.paths).toEqual(['GET /api/ams/v1/health/status'])
  })

  test('upper case, a nested namespace and a name with a slash are encoded unchanged', async () => {
    const opened = open()
    for (const name of ['dc1.db.Sales_2024', 'dc1.a.b.c', 'dc1.db.a/b']) await locate(opened, { ...query, name })
    expect(server.requests.map(({ url }) => url.replace(/^.*catalogs\/dc1\/namespaces\//, ''))).toEqual([
      'db/tables/Sales_2024?snapshots=refs',
      'a%1Fb/tables/c?snapshots=refs',
      'db/tables/a%2Fb?snapshots=refs',
    ])
    expect((await queryError(locate(opened, { ...query, name: 'db.user' }))).code).toBe('rejected')
  })
})
