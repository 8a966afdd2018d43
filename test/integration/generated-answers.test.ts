/** Properties of every plugin for any responses: a valid location or a LocalityError, in time, and no request to another server. */
import { createServer, type Server, type Socket } from 'node:net'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { defined, isCount } from '../../src/base/json.ts'
import { TestClock } from '../../src/base/time/clock.fake.ts'
import { parseSystemConfig, type SystemConfig } from '../../src/locality/config/config.ts'
import { type DataAnswer, DataServer } from '../../src/locality/http/data-server.fake.ts'
import { type LocalityAnswer, LocalityError, type LocalityQuery } from '../../src/locality/locality.ts'
import { completeObserver } from '../../src/locality/observer.ts'
import { type OpenSystem, openSystem } from '../../src/locality/open-system.ts'
import { answersLike } from '../../src/locality/plugins/generated-answers.fake.ts'
import { plugins } from '../../src/locality/plugins/index.ts'

const TIMEOUT_MS = 10_000
const never = new AbortController().signal

interface Case {
  plugin: string
  auth?: object
  query: LocalityQuery
  /** A valid response to each kind of request, by a part of its URL. The first match counts. */
  valid: readonly { url: string; body: unknown }[]
  headers?: Record<string, string>
}

const loaded = {
  'metadata-location': 's3://a/m',
  metadata: {
    location: 's3://a',
    'current-snapshot-id': 5,
    snapshots: [{ 'snapshot-id': 5, summary: { 'total-files-size': '7' } }],
    refs: { main: { 'snapshot-id': 5 } },
    properties: { 'write.object-storage.enabled': 'true', 'write.object-storage.path': 's3://b' },
  },
  config: { token: 't' },
}
const catalogConfig = { defaults: { prefix: 'p' }, overrides: { prefix: 'q', 'namespace-separator': '%2E' } }
const listing =
  '<?xml version="1.0"?><ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>a</NextContinuationToken>' +
  '<Contents><Key>a/b</Key><Size>5</Size><ETag>"e"</ETag></Contents><EncodingType>url</EncodingType></ListBucketResult>'

const CASES: readonly Case[] = [
  {
    plugin: 'amoro',
    query: { type: 'table', name: 'lake.db.t', attributes: { ref: 'main' } },
    valid: [
      { url: '/iceberg/', body: loaded },
      { url: '/details', body: { code: 200, result: { baseLocation: 's3://a' } } },
      { url: '/', body: { code: 200, result: [{ name: 't' }] } },
    ],
  },
  {
    plugin: 'iceberg-rest',
    query: { type: 'table', name: 'db.t', attributes: { ref: 'main' }, etag: '"v0"' },
    valid: [
      { url: '/config', body: catalogConfig },
      { url: '/', body: loaded },
    ],
  },
  {
    plugin: 'iceberg-rest',
    auth: { type: 'oauth2', clientSecret: 's' },
    query: { type: 'table', name: 'db.t', attributes: {} },
    valid: [
      { url: '/token', body: { access_token: 'abc', expires_in: 60 } },
      { url: '/config', body: catalogConfig },
      { url: '/', body: { error: { type: 'NoSuchTableException', message: 'm', code: 404 } } },
    ],
  },
  {
    plugin: 'webhdfs',
    query: { type: 'path', name: '/a', attributes: {} },
    valid: [
      { url: 'GETFILESTATUS', body: { FileStatus: { type: 'DIRECTORY', length: 0 } } },
      { url: '/', body: { ContentSummary: { length: 7 } } },
    ],
  },
  {
    plugin: 'webhdfs',
    query: { type: 'file', name: '/a', attributes: {} },
    valid: [{ url: '/', body: { FileStatus: { type: 'FILE', length: 7 } } }],
  },
  {
    plugin: 's3',
    query: { type: 'prefix', name: 'bucket/a', attributes: {} },
    valid: [{ url: '/', body: listing }],
    headers: { 'x-amz-bucket-region': 'eu-west-1' },
  },
]

/** The configuration of a system with one server. */
function configOf(
  plugin: string,
  url: string,
  { auth, timeout = `${TIMEOUT_MS}ms` }: { auth?: object | undefined; timeout?: string },
): SystemConfig {
  const endpoint = defined({ url, auth: auth && { ...auth, tokenUrl: `${url}/token` } })
  const retryConfig = { maxRetries: 0, timeout }
  const document = { system: 'lake', plugin, endpoint, retryConfig, maxRequestsPerSecond: 10_000 }
  return parseSystemConfig('lake.json', JSON.stringify(document), plugins)
}

/** Opens a system. Its first health check has ended, and the next one waits for a clock that stands still. */
async function open(config: SystemConfig): Promise<OpenSystem> {
  const definition = plugins[config.plugin]
  if (definition === undefined) throw new Error(`the test opens ${config.plugin}, which is no plugin`)
  const checked = Promise.withResolvers<void>()
  const system = openSystem({
    config,
    definition,
    clusters: () => [],
    observer: completeObserver({ health: () => checked.resolve() }),
    clock: new TestClock(),
    healthChanged: () => undefined,
  })
  await checked.promise
  return system
}

function isValid(answer: LocalityAnswer, query: LocalityQuery): boolean {
  if (answer.kind === 'unchanged') return query.etag !== undefined
  if (answer.kind === 'nowhere') return answer.reason !== ''
  const { location, bytes, etag } = answer
  return (
    /^[^\p{Cc}\p{Cs}]{1,4096}$/u.test(location) &&
    (bytes === undefined || isCount(bytes)) &&
    (etag === undefined || /^[\x21-\x7e]+$/.test(etag))
  )
}

/** Returns the answer or the LocalityError; any other error fails the test. */
async function outcomeOf(system: OpenSystem, query: LocalityQuery): Promise<LocalityAnswer | LocalityError> {
  return system.plugin.locate(query, never).catch((reason: unknown) => {
    if (reason instanceof LocalityError) return reason
    throw reason
  })
}

describe.each(CASES)('the plugin $plugin, for a query of type $query.type ($auth)', (given) => {
  let server: DataServer
  let other: DataServer
  let answers: readonly DataAnswer[] = []
  let config: SystemConfig

  beforeAll(async () => {
    other = await new DataServer(() => ({})).listen()
    const kindOf = (url: string) => given.valid.findIndex((kind) => url.includes(kind.url))
    server = await new DataServer(({ url }) => answers[kindOf(url)] ?? { status: 404 }).listen()
    // Once: each system compiles the schema of its plugin.
    config = configOf(given.plugin, server.url, { auth: given.auth })
  })
  afterAll(async () => {
    await server.close()
    await other.close()
  })

  test('returns a valid answer or throws a LocalityError for any responses', async () => {
    const generated = fc.tuple(...given.valid.map(({ body }) => answersLike(body, given.headers ?? {})))
    const run = fc.asyncProperty(generated, async (some) => {
      answers = []
      const system = await open(config)
      answers = some
      const started = performance.now()
      const outcome = await outcomeOf(system, given.query)
      const tookMs = performance.now() - started
      await system.close()
      expect(outcome).toSatisfy((result: LocalityAnswer | LocalityError) =>
        result instanceof LocalityError ? result.code !== 'timeout' : isValid(result, given.query),
      )
      expect(tookMs).toBeLessThan(TIMEOUT_MS)
      expect(outcome instanceof LocalityError ? outcome.message.length : 0).toBeLessThan(10_000)
    })
    await fc.assert(run, { numRuns: 150, endOnFailure: true })
    expect(other.requests).toEqual([])
  }, 120_000)
})

const HEAD = 'HTTP/1.1 200 OK\r\n'
const RAW: readonly { name: string; text: string }[] = [
  { name: 'nothing', text: '' },
  { name: 'another protocol', text: 'SSH-2.0-OpenSSH_9.6\r\n' },
  { name: 'an incomplete head', text: 'HTTP/1.1 200' },
  { name: 'an invalid status', text: 'HTTP/1.1 abc OK\r\n\r\n' },
  { name: 'less than content-length', text: `${HEAD}content-length: 100\r\n\r\n{}` },
  { name: 'two content-lengths', text: `${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n{}` },
  { name: 'an invalid content-length', text: `${HEAD}content-length: -1\r\n\r\n{}` },
  { name: 'invalid chunks', text: `${HEAD}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n` },
  { name: 'a truncated chunk', text: `${HEAD}transfer-encoding: chunked\r\n\r\nff\r\n{}` },
  { name: 'a huge header', text: `${HEAD}x-a: ${'a'.repeat(100_000)}\r\n\r\n{}` },
  { name: 'very many headers', text: `${HEAD}${'a: b\r\n'.repeat(50_000)}\r\n{}` },
  { name: 'informational responses without end', text: 'HTTP/1.1 102 Processing\r\n\r\n'.repeat(10_000) },
  {
    name: 'a change of protocol',
    text: 'HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n',
  },
]

describe.each(['amoro', 'iceberg-rest', 'webhdfs', 's3'])('the plugin %s', (plugin) => {
  let server: Server
  let text = ''
  const sockets = new Set<Socket>()
  beforeAll(async () => {
    server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => socket.destroy())
      socket.once('data', () => socket.end(text, 'latin1'))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  })
  afterAll(async () => {
    for (const socket of sockets) socket.destroy()
    await new Promise((resolve) => server.close(resolve))
  })

  test.each(RAW)(
    'throws a LocalityError for a server that sends $name',
    async (raw) => {
      text = raw.text
      const address = server.address() as { port: number }
      const system = await open(configOf(plugin, `http://127.0.0.1:${address.port}`, { timeout: '5s' }))
      const query = CASES.find((one) => one.plugin === plugin)?.query
      const outcome = await outcomeOf(system, query ?? { type: 'table', name: 'a.b.c', attributes: {} })
      await system.close()
      expect(outcome).toBeInstanceOf(LocalityError)
      expect(['unreachable', 'invalidResponse', 'timeout']).toContain((outcome as LocalityError).code)
    },
    30_000,
  )
})
