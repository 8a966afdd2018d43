/** Tests the plugin iceberg-rest with responses of Iceberg catalogs. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../../base/time/clock.fake.ts'
import { type DataAnswer, DataServer, type Serve } from '../http/data-server.fake.ts'
import { describePlugin, locate, openPlugin, queryError } from '../locality.suite.ts'
import type { LocalityPlugin } from '../locality.ts'

const CONFIG = { defaults: {}, overrides: { prefix: 'ws/main' } }
const TABLE = {
  'metadata-location': 's3://wh-dc1/db/user/metadata/v1.metadata.json',
  metadata: {
    'format-version': 2,
    location: 's3://wh-dc1/db/user',
    properties: { owner: 'root' },
    'current-snapshot-id': 8904352375423958000,
    snapshots: [
      { 'snapshot-id': 1, summary: { 'total-files-size': '11' } },
      { 'snapshot-id': 8904352375423958000, summary: { operation: 'append', 'total-files-size': '4096' } },
    ],
    refs: { main: { 'snapshot-id': 8904352375423958000 }, audit: { 'snapshot-id': 1 } },
  },
  config: { 's3.secret-access-key': 'hunter2' },
  'storage-credentials': [{ prefix: 's3', config: { token: 'hunter2' } }],
}
const NO_TABLE = {
  status: 404,
  body: { error: { message: 'Table does not exist: db.user', type: 'NoSuchTableException', code: 404 } },
}
/** The 404 of a catalog, or of a gateway before it. */
const UNCLEAR = { status: 404, body: { error: { message: 'Not found', code: 404 } } }
function withSnapshot(snapshot: object): object {
  return { metadata: { ...TABLE.metadata, 'current-snapshot-id': 1, snapshots: [snapshot] } }
}
const query = { type: 'table', name: 'db.user', attributes: {} }

function catalog(table: Serve): Serve {
  return (request) => (request.path === '/v1/config' ? { body: CONFIG } : table(request))
}

describePlugin({
  system: 'iceberg-rest',
  query,
  otherNames: ['user', 's3://wh-dc1/db.user', 'hdfs://lake/warehouse/sales.db/user', 'db..user', '/db/user'],
  located: catalog(() => ({ body: TABLE })),
  wantLocated: { kind: 'located', location: 's3://wh-dc1/db/user', bytes: 4096 },
  unmeasured: {
    'a table whose snapshot has no size': catalog(() => ({ body: withSnapshot({ 'snapshot-id': 1 }) })),
    'a table whose snapshot has an invalid size': catalog(() => ({
      body: withSnapshot({ 'snapshot-id': 1, summary: { 'total-files-size': 'many' } }),
    })),
    'a table without its snapshot': catalog(() => ({ body: withSnapshot({ 'snapshot-id': 2 }) })),
  },
  nowhere: catalog(() => NO_TABLE),
  unproven: {
    'the same exception with another status': catalog(() => ({ ...NO_TABLE, status: 400 })),
    'a missing file of a table': catalog(() => ({ status: 404, body: { error: { type: 'NotFoundException' } } })),
    'a table of another format': catalog(() => ({
      status: 404,
      body: { error: { type: 'NoSuchIcebergTableException' } },
    })),
    'a 404 of a framework': catalog(() => ({ status: 404, body: { detail: 'Not Found' } })),
    'a 404 that does not say what is missing': catalog(() => UNCLEAR),
    'a 404 of another path': catalog(({ url }) => ({
      status: 404,
      body: { error: { message: `No route for ${url}, method not found`, code: 404 } },
    })),
    'a missing warehouse': () => ({ status: 404, body: { error: { type: 'NoSuchWarehouseException', code: 404 } } }),
  },
  errorInside: {
    answer: { body: { error: { message: 'no', type: 'NoSuchTableException', code: 404 } } },
    want: 'invalidResponse',
  },
})

describe('the plugin iceberg-rest', () => {
  let server: DataServer
  let plugin: LocalityPlugin | undefined
  const clock = new SkippingClock()

  beforeEach(async () => {
    server = await new DataServer(catalog(() => ({ body: TABLE }))).listen()
  })
  afterEach(async () => {
    await plugin?.close()
    plugin = undefined
    await server.close()
  })

  function open({ auth, ...rest }: Record<string, unknown> = {}): LocalityPlugin {
    plugin = openPlugin({ system: 'iceberg-rest', endpoint: { url: server.url, auth }, ...rest }, clock)
    return plugin
  }
  const tablePaths = () => server.requests.filter(({ path }) => path !== '/v1/config').map(({ url }) => url)

  test('reads the configuration of a warehouse once, and requests referenced snapshots', async () => {
    const opened = open({ extra: { warehouse: 'main warehouse' } })
    await locate(opened, query)
    await locate(opened, query)
    expect(server.requests.map(({ url }) => url)).toEqual([
      '/v1/config?warehouse=main%20warehouse',
      '/v1/ws/main/namespaces/db/tables/user?snapshots=refs',
      '/v1/ws/main/namespaces/db/tables/user?snapshots=refs',
    ])
    expect(server.requests[1]?.headers['x-iceberg-access-delegation']).toBeUndefined()
  })

  test('a claim with an empty warehouse changes no path of claims without one', async () => {
    const opened = open()
    const serve = server.serve
    server.serve = (request) =>
      request.url === '/v1/config?warehouse='
        ? { body: { defaults: {}, overrides: { prefix: 'mine' } } }
        : serve(request)
    await locate(opened, { ...query, attributes: { warehouse: '' } })
    await locate(opened, query)
    expect(tablePaths().map((path) => path.split('/namespaces')[0])).toEqual(['/v1/mine', '/v1/ws/main'])
  })

  test('upper case, nested namespaces and a name with a slash are encoded unchanged', async () => {
    const opened = open()
    for (const name of ['db.Sales_2024', 'a.b.c', 'a.b.c.t', 'db.a/b', 'db."x.y"', 'db.50% ü']) {
      await locate(opened, { ...query, name })
    }
    expect(tablePaths()).toEqual(
      [
        'db/tables/Sales_2024',
        'a%1Fb/tables/c',
        'a%1Fb%1Fc/tables/t',
        'db/tables/a%2Fb',
        'db/tables/x.y',
        'db/tables/50%25%20%C3%BC',
      ].map((path) => `/v1/ws/main/namespaces/${path}?snapshots=refs`),
    )
  })

  test.each([{ name: 'user' }, { name: 'db..user' }, { name: 'db."..".user' }, { name: 'db."user' }, { name: '' }])(
    'refuses the name $name without asking for it',
    async ({ name }) => {
      expect((await queryError(locate(open(), { ...query, name }))).code).toBe('rejected')
      expect(tablePaths()).toEqual([])
    },
  )

  test('joins a nested namespace with the separator of the catalog', async () => {
    server.serve = (request) =>
      request.path === '/v1/config'
        ? { body: { defaults: { prefix: 'lost' }, overrides: { 'namespace-separator': '%2E' } } }
        : { body: TABLE }
    await locate(open({ extra: { prefix: 'told' } }), { ...query, name: 'a.b.t' })
    expect(tablePaths()).toEqual(['/v1/told/namespaces/a%2Eb/tables/t?snapshots=refs'])
  })

  test.each([
    { separator: '%2E', name: 'a."b.c".t' },
    { separator: '.', name: 'a."b.c".t' },
    { separator: '--', name: 'a--b.t' },
  ])('rejects $name, which has the separator $separator inside of a part', async ({ separator, name }) => {
    // The path would be that of another namespace.
    server.serve = ({ path }) =>
      path === '/v1/config' ? { body: { overrides: { 'namespace-separator': separator } } } : { body: TABLE }
    const reason = await queryError(locate(open(), { ...query, name }))
    expect(reason).toMatchObject({ code: 'rejected', message: expect.stringContaining(`the separator of the catalog`) })
    expect(tablePaths()).toEqual([])
  })

  test('names the warehouse that the catalog does not have', async () => {
    server.serve = () => ({ status: 500, body: { error: { type: 'IllegalStateException', message: 'no', code: 500 } } })
    const error = await queryError(locate(open(), { ...query, attributes: { warehouse: 'asia' } }))
    expect(error).toMatchObject({
      code: 'serverError',
      message: `GET ${server.url}/v1/config: HTTP 500 (warehouse asia, IllegalStateException)`,
    })
  })

  test.each([
    { prefix: '../../admin', want: 'invalidResponse' },
    { prefix: 'a/%2e%2E/b', want: 'invalidResponse' },
  ])('rejects the prefix $prefix', async ({ prefix, want }) => {
    server.serve = () => ({ body: { defaults: {}, overrides: { prefix } } })
    expect((await queryError(locate(open(), query))).code).toBe(want)
    expect(tablePaths()).toEqual([])
  })

  test('keeps an encoded prefix, and encodes characters that are invalid in a path', async () => {
    server.serve = (request) =>
      request.path === '/v1/config' ? { body: { overrides: { prefix: 'main%7Cs3:%2F%2Fb/x?y z' } } } : { body: TABLE }
    await locate(open(), query)
    expect(tablePaths()).toEqual(['/v1/main%7Cs3:%2F%2Fb/x%3Fy%20z/namespaces/db/tables/user?snapshots=refs'])
  })

  test('returns the ETag, and unchanged when it is still current', async () => {
    server.serve = catalog(({ headers }) =>
      headers['if-none-match'] === '"v7"' ? { status: 304 } : { body: TABLE, headers: { etag: '"v7"' } },
    )
    const opened = open()
    expect(await locate(opened, query)).toMatchObject({ kind: 'located', etag: '"v7"' })
    expect(await locate(opened, { ...query, etag: '"v7"' })).toEqual({ kind: 'unchanged' })
    expect(await locate(opened, { ...query, etag: '"v6"' })).toMatchObject({ kind: 'located' })
  })

  test('304 for a query without an ETag is rejected', async () => {
    server.serve = catalog(() => ({ status: 304 }))
    expect((await queryError(locate(open(), query))).code).toBe('rejected')
  })

  test.each([
    { name: 'of a snapshot without a branch or tag', id: '1', all: { body: TABLE }, bytes: 11, etag: '"v7"' },
    { name: 'of an expired snapshot', id: '2', all: { body: TABLE }, etag: '"v7"' },
    // With an ETag, the table would not be read again until it changes.
    { name: 'if the list of all snapshots fails', id: '1', all: { status: 503 } },
    { name: 'if the list of all snapshots is no table', id: '1', all: { body: {} } },
  ])('has the location, the size $bytes and the ETag $etag, $name', async ({ id, all, bytes, etag }) => {
    const { refs, snapshots, ...metadata } = TABLE.metadata
    const referenced = { metadata: { ...metadata, refs: { main: refs.main }, snapshots: [snapshots[1]] } }
    server.serve = catalog((request) =>
      request.query.get('snapshots') === 'all' ? all : { body: referenced, headers: { etag: '"v7"' } },
    )

    const answer = await locate(open(), { ...query, attributes: { 'snapshot-id': id } })

    expect(answer).toEqual({ kind: 'located', location: 's3://wh-dc1/db/user', bytes, etag })
  })

  test('returns the size of the branch or snapshot of the query', async () => {
    const opened = open()
    expect(await locate(opened, { ...query, attributes: { ref: 'audit' } })).toMatchObject({ bytes: 11 })
    expect(await locate(opened, { ...query, attributes: { 'snapshot-id': '1' } })).toMatchObject({ bytes: 11 })
    const gone = await queryError(locate(opened, { ...query, attributes: { ref: 'gone' } }))
    expect([gone.code, gone.message]).toEqual([
      'rejected',
      'table db.user has no branch or tag gone; correct the attribute ref of the claim',
    ])
  })

  test('an answer contains nothing of config and storage-credentials', async () => {
    expect(JSON.stringify(await locate(open(), query))).not.toContain('hunter2')
  })

  test('404 for a table that the user may not see is rejected, with the remedy', async () => {
    const error = { type: 'NoSuchTableException', message: "Table 'USER' does not exist or not authorized." }
    server.serve = catalog(() => ({ status: 404, body: { error } }))
    const reason = await queryError(locate(open(), query))
    expect(reason.code).toBe('rejected')
    expect(reason.message).toMatch(/\(NoSuchTableException; the user may lack the right to see it\)$/)
  })

  test.each([
    { name: 'an exception that is not about the table', body: { error: { type: 'NotFoundException', code: 404 } } },
    { name: 'JSON of something else', body: { detail: 'Not Found' } },
    { name: 'a text that is not JSON', body: 'Not Found' },
  ])('404 with $name is rejected', async ({ body }) => {
    server.serve = catalog(() => ({ status: 404, body }))
    expect((await queryError(locate(open(), query))).code).toBe('rejected')
  })

  test.each([
    { name: 'Embucket', body: { message: 'Table user not found in schema db', status_code: 404 } },
    {
      name: 'Unity Catalog',
      body: { error: { message: 'Table not found: db.user', type: 'BaseException', code: 404 } },
    },
    { name: 'a catalog without types', body: { error: { message: 'Schema db does not exist', code: 404 } } },
  ])('404 of $name, whose message names the missing object, is nowhere', async ({ body }) => {
    server.serve = catalog(() => ({ status: 404, body }))
    expect(await locate(open(), query)).toMatchObject({ kind: 'nowhere' })
  })

  const NAMESPACES = '/v1/ws/main/namespaces'
  test.each<{ name: string; found: Record<string, DataAnswer>; want: string }>([
    { name: 'its namespace exists', found: { '/db': { body: { namespace: ['db'] } } }, want: 'nowhere' },
    { name: 'the catalog lists namespaces', found: { '': { body: { namespaces: [] } } }, want: 'nowhere' },
    { name: 'its namespace is missing', found: { '/db': NO_TABLE }, want: 'nowhere' },
    { name: 'the catalog answers everything', found: { '/db': { body: {} }, '': { body: {} } }, want: 'rejected' },
    { name: 'the other paths are unknown', found: { '/db': { status: 404 } }, want: 'rejected' },
    { name: 'the namespace is forbidden', found: { '/db': { status: 403 } }, want: 'rejected' },
    { name: 'the catalog fails', found: { '/db': { status: 503 } }, want: 'unavailable' },
  ])('404 that does not say what is missing, when $name: $want', async ({ found, want }) => {
    server.serve = catalog(({ path }) => found[path.slice(NAMESPACES.length)] ?? UNCLEAR)
    const result = await locate(open(), query).then(
      ({ kind }) => kind,
      ({ code }) => code,
    )
    expect(result).toBe(want)
  })

  test.each([
    { name: 'a view', view: { body: { metadata: { 'view-uuid': 'u' } } }, want: 'rejected' },
    { name: 'no view either', view: NO_TABLE, want: 'nowhere' },
    { name: 'a failing request for the view', view: { status: 503 }, want: 'nowhere' },
  ])('a missing table with $name is $want', async ({ view, want }) => {
    const endpoints = ['GET /v1/{prefix}/namespaces/{namespace}/views/{view}']
    server.serve = ({ path }) => {
      if (path === '/v1/config') return { body: { ...CONFIG, endpoints } }
      return path.endsWith('/views/user') ? view : NO_TABLE
    }
    const answer = await locate(open(), query).catch((error: unknown) => error)
    expect(answer).toMatchObject(want === 'nowhere' ? { kind: want } : { code: want })
    expect(tablePaths().at(-1)).toBe('/v1/ws/main/namespaces/db/views/user')
  })

  test('a table whose files are placed by a class of the user cannot be located', async () => {
    const properties = { 'write.location-provider.impl': 'org.example.Provider' }
    server.serve = catalog(() => ({ body: { metadata: { ...TABLE.metadata, properties } } }))
    const error = await queryError(locate(open(), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('db.user: cannot be located') })
  })

  test('a missing namespace is nowhere; a missing warehouse is rejected', async () => {
    server.serve = catalog(() => ({ status: 404, body: { error: { type: 'NoSuchNamespaceException' } } }))
    expect(await locate(open(), query)).toMatchObject({ kind: 'nowhere' })
    await plugin?.close()
    server.serve = () => ({ status: 404, body: { error: { type: 'NoSuchWarehouseException' } } })
    const error = await queryError(locate(open({ extra: { warehouse: 'typo' } }), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('NoSuchWarehouseException') })
  })

  test('406 without the usual error object is rejected with its exception', async () => {
    server.serve = catalog(() => ({ status: 406, body: { message: 'x', type: 'UnsupportedOperationException' } }))
    const error = await queryError(locate(open(), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('UnsupportedOperationException') })
  })

  test('reads the prefix again after five minutes, and after a missing table', async () => {
    const opened = open()
    const asked = () => server.paths.filter((path) => path === 'GET /v1/config').length
    await locate(opened, query)
    clock.advance(300_001)
    await locate(opened, query)
    expect(asked()).toBe(2)
    server.serve = catalog(() => NO_TABLE)
    await locate(opened, query)
    await locate(opened, query)
    expect(asked()).toBe(3)
  })

  describe('with OAuth2', () => {
    let issued = 0
    const auth = () => ({
      type: 'oauth2',
      tokenUrl: `${server.url}/token`,
      clientId: 'lodestone',
      clientSecret: 'hunter2',
      scope: 'PRINCIPAL_ROLE:ALL',
    })
    const secured =
      (valid: () => string, status = 401): Serve =>
      (request) => {
        if (request.path === '/token')
          return { body: { access_token: `t${++issued}`, token_type: 'bearer', expires_in: 100 } }
        if (request.headers.authorization !== `Bearer ${valid()}`) return { status }
        return request.path === '/v1/config' ? { body: CONFIG } : { body: TABLE }
      }
    const tokenRequests = () => server.requests.filter(({ path }) => path === '/token')

    beforeEach(() => {
      issued = 0
    })

    test('requests one token for many queries, with client credentials', async () => {
      server.serve = secured(() => 't1')
      const opened = open({ auth: auth() })
      await Promise.all([1, 2, 3].map(() => locate(opened, query)))
      expect(tokenRequests().map(({ method, body }) => [method, body])).toEqual([
        ['POST', 'grant_type=client_credentials&client_id=lodestone&client_secret=hunter2&scope=PRINCIPAL_ROLE%3AALL'],
      ])
    })

    test('requests the next token before the first one expires', async () => {
      server.serve = secured(() => `t${issued}`)
      const opened = open({ auth: auth() })
      await locate(opened, query)
      clock.advance(91_000)
      await locate(opened, query)
      expect(issued).toBe(2)
    })

    test.each([{ status: 401 }, { status: 419 }])('renews the token once after $status', async ({ status }) => {
      server.serve = secured(() => 't2', status)
      expect(await locate(open({ auth: auth() }), query)).toMatchObject({ kind: 'located' })
      expect(issued).toBe(2)
    })

    test('fails when the new token is rejected too, with no token in the message', async () => {
      server.serve = secured(() => 'none')
      const error = await queryError(locate(open({ auth: auth() }), query))
      expect(error.code).toBe('unauthorized')
      expect(issued).toBe(2)
      expect(String(error)).not.toMatch(/hunter2|t1|t2/)
    })

    test('an aborted query does not wait for the token, and other queries receive it', async () => {
      const gate = Promise.withResolvers<void>()
      server.serve = async (request) => {
        if (request.path === '/token') await gate.promise
        return secured(() => 't1')(request)
      }
      const opened = open({ auth: auth() })
      const aborter = new AbortController()
      const leaver = opened.locate(query, aborter.signal)
      const other = locate(opened, query)
      await expect.poll(() => tokenRequests().length).toBe(1)
      aborter.abort(new Error('enough'))
      await expect(leaver).rejects.toThrow('enough')
      gate.resolve()
      expect(await other).toMatchObject({ kind: 'located' })
    })

    test.each([
      {
        name: 'rejected credentials',
        answer: { status: 400, body: { error: 'invalid_client' } },
        want: 'unauthorized',
      },
      { name: 'HTML', answer: { body: '<html>hunter2' }, want: 'invalidResponse' },
      { name: 'an outage', answer: { status: 503 }, want: 'unavailable' },
    ])('$name from the token server: $want', async ({ answer, want }) => {
      server.serve = () => answer
      const error = await queryError(locate(open({ auth: auth() }), query))
      expect(error.code).toBe(want)
      expect(error.message).not.toContain('hunter2')
    })
  })
})

describe('an unhealthy catalog', () => {
  const bad: { name: string; serve: Serve; want: string }[] = [
    { name: '500', serve: () => ({ status: 500 }), want: 'serverError' },
    { name: '503', serve: () => ({ status: 503 }), want: 'unavailable' },
    { name: 'garbage HTML with 200', serve: () => ({ body: '<html>' }), want: 'invalidResponse' },
    {
      name: 'a code in the body',
      serve: () => ({ body: { code: 403, message: 'Please login first' } }),
      want: 'invalidResponse',
    },
    { name: '404 of a proxy', serve: () => ({ status: 404, body: 'default backend - 404' }), want: 'rejected' },
  ]
  test.each(bad)('$name causes an error, not nowhere', async ({ serve, want }) => {
    const server = await new DataServer(catalog(serve)).listen()
    const plugin = openPlugin({ system: 'iceberg-rest', endpoint: { url: server.url } })
    expect((await queryError(locate(plugin, query))).code).toBe(want)
    await plugin.close()
    await server.close()
  })

  test('every 404 of a table is nowhere', async () => {
    const server = await new DataServer(catalog(() => NO_TABLE)).listen()
    const plugin = openPlugin({ system: 'iceberg-rest', endpoint: { url: server.url } })
    expect(await locate(plugin, query)).toMatchObject({ kind: 'nowhere' })
    server.serve = catalog(() => ({ body: TABLE }))
    expect(await locate(plugin, query)).toMatchObject({ kind: 'located' })
    await plugin.close()
    await server.close()
  })
})
