/** Tests the plugin hive-metastore with a Thrift server: answers, exceptions, faults, hostile replies, and the configuration. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { defined } from '../../base/json.ts'
import { selfSigned } from '../http/self-signed.fake.ts'
import { locate, openPlugin, queryError } from '../locality.suite.ts'
import { type LocalityAnswer, LocalityError, type LocalityPlugin } from '../locality.ts'
import { TYPES } from '../thrift/protocol.ts'
import { ThriftServer, type ThriftServerOptions } from '../thrift/thrift-server.fake.ts'
import { type Encoded, int32, list, message, struct, text, texts, zeros } from '../thrift/values.fake.ts'

const SECRET = 'hunter2'
const query = { type: 'table', name: 'sales.orders', attributes: {} }
const located: LocalityAnswer = { kind: 'located', location: 's3a://lake/orders', bytes: 4096 }

const descriptor = (location: string | undefined, serde: Record<string, string> = {}, inputFormat = ''): Encoded =>
  struct(
    defined({
      1: list(TYPES.struct, [struct({ 1: text('id'), 2: text('bigint') })]),
      2: location === undefined ? undefined : text(location),
      3: text(inputFormat),
      5: zeros(TYPES.bool, 1),
      7: struct({ 1: text('serde'), 3: texts({ 'serialization.format': '1', ...serde }) }),
      6: int32(-1),
      10: texts({ 'serialization.format': '1' }),
    }),
  )

/** A table with fields that the plugin skips, and `more` in place of its own. */
function table(
  location: string | undefined,
  parameters: Record<string, string> = {},
  more: Record<number, Encoded> = {},
) {
  return struct({
    1: text('orders'),
    2: text('sales'),
    4: int32(0),
    7: descriptor(location),
    8: list(TYPES.struct, []),
    9: texts({ EXTERNAL: 'TRUE', ...parameters }),
    12: text('EXTERNAL_TABLE'),
    19: zeros(TYPES.int64, 8),
    ...more,
  })
}

/** The reply to get_table_req with a table. */
const result = (value: Encoded) => ({ result: struct({ 0: struct({ 1: value }) }) })
const good = () => result(table('s3a://lake/orders', { totalSize: '4096' }))
const exception = (field: number) => ({ result: struct({ [field]: struct({ 1: text(SECRET) }) }) })
const failure = (type: number) => ({ exception: struct({ 1: text(SECRET), 2: int32(type) }) })

let server: ThriftServer
let plugin: LocalityPlugin | undefined
let others: ThriftServer[] = []

beforeEach(async () => {
  server = await new ThriftServer(good).listen()
})
afterEach(async () => {
  await plugin?.close()
  plugin = undefined
  await Promise.all([server, ...others].map((one) => one.close()))
  others = []
})

function open(endpoint: object = {}, more: object = {}): LocalityPlugin {
  plugin = openPlugin({ system: 'hive-metastore', endpoint: { url: server.url, ...endpoint }, ...more })
  return plugin
}

async function another(options: ThriftServerOptions = {}): Promise<ThriftServer> {
  const one = await new ThriftServer(good, options).listen()
  others.push(one)
  return one
}

describe('a table', () => {
  test('is located, with the size of its statistics', async () => {
    expect(await locate(open(), query)).toEqual(located)
    expect(server.calls).toMatchObject([{ method: 'get_table_req', texts: ['sales', 'orders'] }])
  })

  test.each([
    { name: 'Sales."my.table"', extra: {}, want: ['Sales', 'my.table'] },
    { name: 'lake.sales.orders', extra: {}, want: ['sales', 'orders', 'lake'] },
    { name: 'sales.orders', extra: { catalog: 'lake' }, want: ['sales', 'orders', 'lake'] },
    { name: 'own.sales.orders', extra: { catalog: 'lake' }, want: ['sales', 'orders', 'own'] },
  ])('is queried by its name: $name, $extra', async ({ name, extra, want }) => {
    server.serve = ({ texts: [database = '', its = '', catalog = 'hive'] }) =>
      result(table('s3a://lake', {}, { 1: text(its), 2: text(database), 17: text(catalog) }))
    await locate(open({}, { extra }), { ...query, name })
    expect(server.calls[0]?.texts).toEqual(want)
  })

  test.each([
    { name: 'another table', more: { 1: text('orders_old') } },
    { name: 'a table of another database', more: { 2: text('archive') } },
  ])('whose answer is about $name is not located', async ({ more }) => {
    server.serve = () => result(table('s3a://lake/orders', {}, more))
    expect(await queryError(locate(open(), query))).toMatchObject({
      code: 'invalidResponse',
      message: expect.stringContaining('the answer is about the '),
    })
  })

  test.each(['orders', 'a.b.c.d', '', 'a..b', 'a."b'])(
    'of the invalid name %j is rejected without a call',
    async (name) => {
      expect((await queryError(locate(open(), { ...query, name }))).code).toBe('rejected')
      expect(server.connections).toBe(0)
    },
  )

  test('of another type is rejected', async () => {
    expect((await queryError(locate(open(), { ...query, type: 'bucket' }))).code).toBe('rejected')
  })

  test('of an older metastore is queried by its older method, on the same connection', async () => {
    server.serve = ({ method }) =>
      method === 'get_table_req'
        ? failure(1)
        : { result: struct({ 0: table('hdfs://nn/t', {}, { 17: text('lake') }) }) }
    expect(await locate(open(), { ...query, name: 'lake.sales.orders' })).toEqual({
      kind: 'located',
      location: 'hdfs://nn/t',
    })
    expect(server.calls[1]?.texts).toEqual(['@lake#sales', 'orders'])
    expect(server.connections).toBe(1)
  })

  test('that is a view is rejected, with the remedy', async () => {
    server.serve = () => result(table(undefined, {}, { 12: text('VIRTUAL_VIEW') }))
    expect(await queryError(locate(open(), query))).toMatchObject({
      code: 'rejected',
      message: 'sales.orders: cannot be located: it is a view, which has no location; name the tables that it reads',
    })
  })

  test('of Spark is at the path of its serde', async () => {
    const sd = descriptor('hdfs://lake-eu/sales.db/orders-__PLACEHOLDER__', { Path: 's3a://lake-us/orders' })
    server.serve = () => result(table(undefined, { 'spark.sql.sources.provider': 'parquet' }, { 7: sd }))
    expect(await locate(open(), query)).toEqual({ kind: 'located', location: 's3a://lake-us/orders' })
  })

  test.each([
    {
      name: 'of a storage handler',
      parameters: { storage_handler: 'x.HBaseStorageHandler' },
      want: 'HBaseStorageHandler',
    },
    { name: 'of links', inputFormat: 'x.SymlinkTextInputFormat', want: 'list of its files' },
  ])('$name is rejected, and has no location', async ({ parameters = {}, inputFormat, want }) => {
    server.serve = () => result(table('s3a://lake', parameters, { 7: descriptor('s3a://lake', {}, inputFormat) }))
    const error = await queryError(locate(open(), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining(want) })
  })

  test.each([
    { name: 'lake.sales.orders', catalog: 'LAKE', want: 'located' },
    { name: 'hive.sales.orders', catalog: undefined, want: 'located' },
    { name: 'lake.sales.orders', catalog: undefined, want: 'rejected' },
    { name: 'lake.sales.orders', catalog: 'archive', want: 'rejected' },
  ])('$name of a metastore that answers from the catalog $catalog is $want', async ({ name, catalog, want }) => {
    server.serve = () => result(table('s3a://lake', {}, catalog === undefined ? {} : { 17: text(catalog) }))
    const answer = await locate(open(), { ...query, name }).catch((error: unknown) => error)
    expect(answer).toMatchObject(want === 'located' ? { kind: want } : { code: want })
  })

  test.each([undefined, '', 's'.repeat(20_000)])(
    'without a usable location is an invalid response',
    async (location) => {
      server.serve = () => result(table(location))
      expect((await queryError(locate(open(), query))).code).toBe('invalidResponse')
    },
  )
})

/** The replies about a partition, and about its table with these parameters. */
const partition =
  (parameters: Record<string, string> = {}) =>
  ({ method }: { method: string }) => {
    if (method === 'get_table_req') return result(table('s3a://lake/orders', parameters, { 17: text('lake') }))
    const found = struct({
      1: list(TYPES.text, [text('2026')]),
      6: descriptor('s3a://us/1'),
      7: texts({ totalSize: '7' }),
      9: text('lake'),
    })
    return { result: struct({ 0: found }) }
  }

test('a partition is located by its name, with its own size', async () => {
  server.serve = partition()
  const asked = { ...query, name: 'lake.sales.orders', attributes: { partition: 'day=2026' } }
  expect(await locate(open(), asked)).toEqual({ kind: 'located', location: 's3a://us/1', bytes: 7 })
  expect(server.calls).toMatchObject([
    { method: 'get_partition_by_name', texts: ['@lake#sales', 'orders', 'day=2026'] },
    { method: 'get_table_req', texts: ['sales', 'orders', 'lake'] },
  ])
})

test('a partition is not located if its table has its files elsewhere', async () => {
  const paths = { 'data-file.external-paths': 'oss://us/a', 'data-file.external-paths.strategy': 'specific-fs' }
  server.serve = partition(paths)
  const reason = await queryError(locate(open(), { ...query, attributes: { partition: 'day=2026' } }))
  expect(reason).toMatchObject({ code: 'rejected', message: expect.stringContaining('has no data at its location') })
})

describe('only a NoSuchObjectException means nowhere', () => {
  test.each([{ attributes: {} }, { attributes: { partition: 'day=2026' } }])(
    'with $attributes',
    async ({ attributes }) => {
      server.serve = () => exception(2)
      const answer = await locate(open(), { ...query, attributes })
      expect(answer).toEqual({
        kind: 'nowhere',
        reason: expect.stringMatching(/^the metastore has no table sales.orders/),
      })
    },
  )

  /** A metastore without the object, in which other methods have these replies. */
  const missing =
    (replies: Record<string, ReturnType<typeof exception> | ReturnType<typeof failure>>) =>
    ({ method }: { method: string }) =>
      replies[method] ?? exception(2)
  const partitioned = (keys: number, parameters: Record<string, string> = {}) =>
    result(
      table('s3a://lake', parameters, {
        8: list(
          TYPES.struct,
          Array.from({ length: keys }, () => struct({})),
        ),
      }),
    )

  test.each([
    {
      name: 'a metastore with catalogs',
      replies: { get_catalog: { result: struct({ 0: struct({}) }) } },
      want: 'nowhere',
    },
    { name: 'a missing catalog', replies: { get_catalog: exception(1) }, want: 'nowhere' },
    { name: 'a metastore without catalogs', replies: { get_catalog: failure(1) }, want: 'rejected' },
  ])('in a catalog, of $name: $want', async ({ replies, want }) => {
    server.serve = missing(replies)
    for (const attributes of [{}, { partition: 'day=2026' }]) {
      const asked = locate(open(), { ...query, name: 'lake.sales.orders', attributes })
      const answer = await asked.catch((error: unknown) => error)
      expect(answer).toMatchObject(want === 'nowhere' ? { kind: want } : { code: want })
      await plugin?.close()
    }
  })

  test.each([
    { name: 'with partitions', table: partitioned(1), want: 'nowhere' },
    { name: 'without partitions', table: partitioned(0), want: 'rejected' },
    { name: 'of Iceberg', table: partitioned(1, { table_type: 'ICEBERG' }), want: 'rejected' },
    { name: 'of Delta', table: partitioned(1, { 'spark.sql.sources.provider': 'delta' }), want: 'rejected' },
  ])('for a partition of a table $name: $want', async ({ table: reply, want }) => {
    server.serve = missing({ get_table_req: reply })
    const asked = locate(open(), { ...query, attributes: { partition: 'day=2026' } })
    const answer = await asked.catch((error: unknown) => error)
    expect(answer).toMatchObject(want === 'nowhere' ? { kind: want } : { code: want })
  })

  test.each([
    { name: 'a MetaException', serve: () => exception(1), want: 'invalidResponse' },
    { name: 'an exception of the server', serve: () => failure(6), want: 'invalidResponse' },
    { name: 'unknown methods', serve: () => failure(1), want: 'rejected' },
    { name: 'a result without fields', serve: () => ({ result: struct({}) }), want: 'invalidResponse' },
    { name: 'a result of another type', serve: () => ({ result: struct({ 0: text('t') }) }), want: 'invalidResponse' },
    { name: 'a closed connection', serve: () => 'close' as const, want: 'unreachable' },
    { name: 'a reset connection', serve: () => 'reset' as const, want: 'unreachable' },
    { name: 'a page of HTTP', serve: () => Buffer.from(`HTTP/1.1 400 ${SECRET}\r\n\r\n`), want: 'invalidResponse' },
    {
      name: 'half a reply',
      serve: () => message('reply', 'get_table_req', 1, text('x')).subarray(0, 20),
      want: 'unreachable',
    },
    {
      name: 'a reply of 9 MiB',
      serve: () => result(table('s3://a', { x: 'x'.repeat(9 << 20) })),
      want: 'invalidResponse',
    },
    {
      name: 'a list of 2 GiB',
      serve: () => result(table('s3://a', {}, { 8: listOfSize(0x7fffffff) })),
      want: 'invalidResponse',
    },
  ])('$name: $want', async ({ serve, want }) => {
    server.serve = serve
    const error = await queryError(locate(open(), query))
    expect(error.code).toBe(want)
    expect(error.message).not.toContain(SECRET)
  })

  test('no reply in time: timeout', async () => {
    server.serve = () => 'hang'
    const error = await queryError(locate(open({}, { retryConfig: { maxRetries: 0, timeout: '200ms' } }), query))
    expect(error).toMatchObject({
      code: 'timeout',
      message: `get_table_req at ${server.url}: no response within 200 ms`,
    })
  })

  test('no server: unreachable', async () => {
    await server.close()
    expect((await queryError(locate(open(), query))).code).toBe('unreachable')
    server = await new ThriftServer(good).listen()
  })
})

function listOfSize(size: number): Encoded {
  return { type: TYPES.list, bytes: Buffer.concat([Buffer.from([TYPES.struct]), int32(size).bytes]) }
}

describe('hostile replies', () => {
  test('cause a LocalityError or a valid answer, whatever the bytes are', async () => {
    const valid = message('reply', 'get_table_req', 1, good().result)
    const change = fc.record({ at: fc.nat(valid.length - 1), bytes: fc.uint8Array({ minLength: 1, maxLength: 6 }) })
    const replies = fc.oneof(
      fc.array(change, { minLength: 1, maxLength: 4 }).map((changes) => {
        const bytes = Buffer.from(valid)
        for (const one of changes) bytes.set(one.bytes.subarray(0, bytes.length - one.at), one.at)
        return bytes
      }),
      fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
    )
    const opened = open({}, { maxRequestsPerSecond: 10_000 })
    const run = fc.asyncProperty(replies, async (reply) => {
      server.serve = () => reply
      const outcome = await locate(opened, query).catch((error: unknown) => error)
      const isError = outcome instanceof LocalityError
      expect(isError ? outcome.code : (outcome as LocalityAnswer).kind).toMatch(
        isError ? /^(?:unreachable|invalidResponse|rejected)$/ : /^(?:located|nowhere)$/,
      )
    })
    await fc.assert(run, { numRuns: 200, endOnFailure: true })
  }, 60_000)

  test('of the largest size, in the smallest fields, end soon', async () => {
    const fields = Buffer.alloc(8 * 1024 * 1024 - 100)
    for (let at = 0; at + 4 <= fields.length; at += 4) fields[at] = TYPES.bool
    const reply = message('reply', 'get_table_req', 1, { type: TYPES.struct, bytes: fields })
    server.serve = () => reply
    // A quiet machine needs a fraction of a second. A query that takes longer than this ends with the code timeout.
    const opened = open({}, { retryConfig: { maxRetries: 0, timeout: '20s' } })
    expect((await queryError(locate(opened, query))).code).toBe('unreachable')
  })
})

describe('several servers', () => {
  test('the next one answers, and is the first from then on', async () => {
    const second = await another()
    server.serve = () => exception(1)
    const opened = open({ url: '', urls: [server.url, second.url] })
    for (let i = 0; i < 3; i++) expect(await locate(opened, query)).toEqual(located)
    expect([server.connections, second.connections]).toEqual([1, 3])
  })

  test('a table that one of them does not have is nowhere', async () => {
    const second = await another()
    server.serve = () => exception(2)
    expect(await locate(open({ url: '', urls: [server.url, second.url] }), query)).toMatchObject({ kind: 'nowhere' })
    expect(second.connections).toBe(0)
  })
})

describe('the connection', () => {
  let folder: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'lodestone-'))
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test('sends its user', async () => {
    server.serve = ({ method }) => (method === 'set_ugi' ? { result: struct({ 0: list(TYPES.text, []) }) } : good())
    expect(await locate(open({ auth: { type: 'simple', username: 'bob' } }), query)).toEqual(located)
    expect(server.calls).toMatchObject([{ method: 'set_ugi', texts: ['bob'] }, { method: 'get_table_req' }])
    expect(server.connections).toBe(1)
  })

  test('authenticates with SASL PLAIN, by a file that is read again', async () => {
    const secure = await another({ password: SECRET })
    const passwordFile = join(folder, 'password')
    writeFileSync(passwordFile, 'wrong\n')
    const opened = open({ url: secure.url, auth: { type: 'basic', username: 'bob', passwordFile } })
    const error = await queryError(locate(opened, query))
    expect(error.code).toBe('unauthorized')
    expect(error.message).not.toContain('wrong')
    writeFileSync(passwordFile, `${SECRET}\n`)
    expect(await locate(opened, query)).toEqual(located)
    expect(secure.users).toEqual(['bob', 'bob'])
  })

  test('with a missing file causes an error with its name, and no other error', async () => {
    await server.close()
    const auth = { type: 'basic', username: 'bob', passwordFile: join(folder, 'missing') }
    expect(await queryError(locate(open({ auth }), query))).toMatchObject({
      code: 'unauthorized',
      message: expect.stringContaining('endpoint.auth.passwordFile'),
    })
    server = await new ThriftServer(good).listen()
  })

  test('uses frames', async () => {
    const framed = await another({ framed: true })
    expect(await locate(open({ url: framed.url }, { extra: { framed: true } }), query)).toEqual(located)
  })

  test('uses TLS, and trusts only the configured CA', async () => {
    const certificate = selfSigned('127.0.0.1')
    const caFile = join(folder, 'ca.crt')
    writeFileSync(caFile, certificate.cert)
    const secure = await another({ tls: certificate })
    expect(await locate(open({ url: secure.url, tls: { caFile } }), query)).toEqual(located)
    await plugin?.close()
    const error = await queryError(locate(open({ url: secure.url, tls: { enabled: true } }), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') })
  })

  test('ends with the reason of an abort', async () => {
    const aborter = new AbortController()
    server.serve = () => {
      aborter.abort(new Error('enough'))
      return 'hang'
    }
    await expect(open().locate(query, aborter.signal)).rejects.toThrow('enough')
    await server.drained()
  })

  test('is closed after each query', async () => {
    await locate(open(), query)
    await server.drained()
  })
})

test('is healthy when the metastore and its database answer', async () => {
  const opened = open({ auth: { type: 'none' } })
  const { signal } = new AbortController()
  for (const serve of [() => ({ result: struct({ 0: struct({}) }) }), () => exception(1)]) {
    server.serve = serve
    await expect(opened.health(signal)).resolves.toBeUndefined()
  }
  expect(server.calls[0]).toMatchObject({ method: 'get_database', texts: ['default'] })
  server.serve = () => exception(2)
  expect((await queryError(opened.health(signal))).code).toBe('invalidResponse')
  server.serve = () => Buffer.from('HTTP/1.1 200 OK\r\n\r\n')
  expect((await queryError(opened.health(signal))).code).toBe('invalidResponse')
})

describe('the configuration', () => {
  test.each([
    { name: 'HTTP', endpoint: { url: 'http://ms' }, want: 'endpoint.url: must be a URL such as thrift://' },
    { name: 'a path', endpoint: { url: 'thrift://ms:9083/x' }, want: 'endpoint.url: must end with the port' },
    {
      name: 'a list in one URL',
      endpoint: { url: 'thrift://a:9083,thrift://b:9083' },
      want: 'endpoint.url: must be a URL',
    },
    { name: 'no host', endpoint: { url: 'thrift:///x' }, want: 'endpoint.url: must be a URL' },
    { name: 'credentials', endpoint: { url: 'thrift://u:p@ms:9083' }, want: 'must not have credentials' },
    { name: 'no URL', endpoint: { url: '' }, want: 'endpoint.url: is required, e.g. thrift://' },
    {
      name: 'Kerberos',
      endpoint: { auth: { type: 'kerberos' } },
      want: 'endpoint.auth.type: must be one of none, simple, basic',
    },
    {
      name: 'a CA without TLS',
      endpoint: { tls: { enabled: false, caFile: 'ca' } },
      want: 'endpoint.tls.enabled: must be true',
    },
    { name: 'an unknown option', extra: { frame: true }, want: 'extra.frame' },
    { name: 'a wrong type', extra: { framed: 'yes' }, want: 'extra.framed' },
  ])('with $name is rejected', ({ endpoint = {}, extra = {}, want }) => {
    expect(() => open(endpoint, { extra })).toThrow(want)
  })

  test('has the port 9083 by default', async () => {
    const error = await queryError(locate(open({ url: 'thrift://127.0.0.2/' }), query))
    expect(error.message).toContain('thrift://127.0.0.2:9083')
  })
})
