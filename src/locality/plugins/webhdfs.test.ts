/** Tests the plugin webhdfs with responses of NameNodes and HttpFS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { DataServer, type Fault, type Serve } from '../http/data-server.fake.ts'
import { describePlugin, locate, openPlugin, queryError } from '../locality.suite.ts'
import type { LocalityPlugin } from '../locality.ts'

const DIRECTORY = { FileStatus: { type: 'DIRECTORY', length: 0, pathSuffix: '' } }
const SUMMARY = { ContentSummary: { directoryCount: 2, fileCount: 3, length: 24_930, spaceConsumed: 74_790 } }
const query = { type: 'path', name: '/warehouse/db/user', attributes: {} }

function exception(status: number, name: string): { status: number; body: object } {
  const javaClassName = `org.apache.hadoop.${name}`
  return { status, body: { RemoteException: { exception: name, javaClassName, message: 'hunter2' } } }
}

const good: Serve = ({ query: parameters }) =>
  parameters.get('op') === 'GETCONTENTSUMMARY' ? { body: SUMMARY } : { body: DIRECTORY }

describePlugin({
  system: 'webhdfs',
  config: { extra: { defaultFs: 'hdfs://ns1' } },
  query,
  otherNames: [
    'hdfs://archive/warehouse/db/user',
    'hdfs://ns1:9000/warehouse/db/user',
    '//archive/warehouse/db/user',
    'viewfs://ns1/warehouse/db/user',
    'file:///warehouse/db/user',
    's3a://ns1/warehouse/db/user',
    'hdfs://etl:hunter2@ns1/warehouse/db/user',
    'warehouse/db/user',
  ],
  located: good,
  wantLocated: { kind: 'located', location: 'hdfs://ns1/warehouse/db/user', bytes: 24_930 },
  isOptional: ({ query: parameters }) => parameters.get('op') === 'GETCONTENTSUMMARY',
  unmeasured: {
    'a file without a length': () => ({ body: { FileStatus: { type: 'FILE' } } }),
    'a file with a negative length': () => ({ body: { FileStatus: { type: 'FILE', length: -1 } } }),
  },
  nowhere: () => exception(404, 'FileNotFoundException'),
  unproven: {
    'a 404 of another exception': () => exception(404, 'NotFoundException'),
    'an exception with another status': () => exception(403, 'FileNotFoundException'),
    'a 404 with JSON of something else': () => ({ status: 404, body: { message: 'FileNotFoundException' } }),
  },
  errorInside: { answer: exception(200, 'RuntimeException'), want: 'invalidResponse' },
})

describe('the plugin webhdfs', () => {
  let nn1: DataServer
  let nn2: DataServer
  let plugin: LocalityPlugin | undefined

  beforeEach(async () => {
    nn1 = await new DataServer(good).listen()
    nn2 = await new DataServer(good).listen()
  })
  afterEach(async () => {
    await plugin?.close()
    plugin = undefined
    await nn1.close()
    await nn2.close()
  })

  function open(config: Record<string, unknown> = {}, auth?: object): LocalityPlugin {
    plugin = openPlugin({ system: 'webhdfs', endpoint: { urls: [nn1.url, nn2.url], auth }, ...config })
    return plugin
  }

  describe('NN2 answers, and is the first server from then on, when NN1', () => {
    const troubles: { name: string; fault: Fault }[] = [
      { name: 'is on standby', fault: exception(403, 'StandbyException') },
      { name: 'is starting', fault: exception(403, 'RetriableException') },
      { name: 'is a router in safe mode', fault: exception(403, 'RouterSafeModeException') },
      { name: 'is starting, behind a proxy', fault: { status: 503 } },
      { name: 'hangs', fault: 'hang' },
      { name: 'closes the connection', fault: 'reset' },
    ]
    test.each(troubles)('$name', async ({ fault }) => {
      nn1.fault = () => fault
      const timeout = fault === 'hang' ? '2s' : '20s'
      const opened = open({ retryConfig: { maxRetries: 0, timeout }, extra: { size: 'none' } })
      for (let i = 0; i < 3; i++) expect(await locate(opened, query)).toMatchObject({ kind: 'located' })
      expect([nn1.requests.length, nn2.requests.length]).toEqual([1, 3])
      // NN1 is healthy again, but NN2 stays the first server.
      nn1.fault = () => undefined
      await locate(opened, query)
      expect(nn1.requests).toHaveLength(1)
    })

    test('is dead', async () => {
      await nn1.close()
      expect(await locate(open(), query)).toMatchObject({ kind: 'located', bytes: 24_930 })
      expect(nn2.requests).toHaveLength(2)
    })
  })

  test('uses NN1 again when NN2 is on standby', async () => {
    nn1.fault = () => exception(403, 'StandbyException')
    const opened = open()
    await locate(opened, query)
    nn1.fault = () => undefined
    nn2.fault = () => exception(403, 'StandbyException')
    expect(await locate(opened, query)).toMatchObject({ kind: 'located' })
  })

  test('is unavailable while both are on standby, after one request to each', async () => {
    nn1.fault = () => exception(403, 'StandbyException')
    nn2.fault = () => exception(403, 'RetriableException')
    expect((await queryError(locate(open({ retryConfig: { maxRetries: 1 } }), query))).code).toBe('unavailable')
    expect([nn1.requests.length, nn2.requests.length]).toEqual([1, 1])
  })

  test('the response of one NameNode about the path is final', async () => {
    nn1.serve = () => exception(404, 'FileNotFoundException')
    expect(await locate(open(), query)).toMatchObject({ kind: 'nowhere' })
    nn1.serve = () => exception(403, 'AccessControlException')
    expect((await queryError(locate(open(), query))).code).toBe('unauthorized')
    expect(nn2.requests).toEqual([])
  })

  test.each([
    { answer: exception(403, 'IOException'), want: 'serverError' },
    { answer: exception(401, 'SecurityException'), want: 'unauthorized' },
    { answer: exception(400, 'IllegalArgumentException'), want: 'rejected' },
    { answer: { status: 404 }, want: 'rejected' },
  ])('$want: $answer', async ({ answer, want }) => {
    nn1.serve = () => answer
    const error = await queryError(locate(open(), query))
    expect(error.code).toBe(want)
    expect(error.message).not.toContain('hunter2')
  })

  test('returns the size of a file or a directory, and none without the right to it', async () => {
    nn1.serve = () => ({ body: { FileStatus: { type: 'FILE', length: 42 } } })
    expect(await locate(open(), query)).toMatchObject({ bytes: 42 })
    nn1.serve = (request) =>
      request.query.get('op') === 'GETFILESTATUS' ? { body: DIRECTORY } : exception(403, 'AccessControlException')
    const answer = await locate(open(), query)
    expect(answer.kind).toBe('located')
    expect(answer).not.toHaveProperty('bytes')
  })

  test('encodes paths, from paths or URIs, and rejects others', async () => {
    const opened = open({ extra: { size: 'none', defaultFs: 'viewfs://union/' } })
    expect(await locate(opened, { ...query, name: '/a b/ü?/' })).toMatchObject({ location: 'viewfs://union/a b/ü?' })
    const uri = await locate(opened, { ...query, name: 'viewfs://union/x/y' })
    expect(uri).toMatchObject({ location: 'viewfs://union/x/y' })
    expect(nn1.requests.map(({ url }) => url)).toEqual([
      '/webhdfs/v1/a%20b/%C3%BC%3F?op=GETFILESTATUS',
      '/webhdfs/v1/x/y?op=GETFILESTATUS',
    ])
    for (const name of ['relative', '/a/../b', '']) {
      expect((await queryError(locate(opened, { ...query, name }))).code).toBe('rejected')
    }
  })

  test.each([
    { name: '/a+b', read: '/a b', want: 'rejected' },
    { name: '/a+b', read: '/a+b', want: 'nowhere' },
    { name: '/100%25', read: '/100%', want: 'rejected' },
    { name: '/100%25', read: undefined, want: 'rejected' },
    { name: '/t/day=1', read: '/t/day%3D1', want: 'rejected' },
    { name: '/t/day=1', read: '/t/day=1', want: 'nowhere' },
    { name: '/a;b', read: '/a', want: 'rejected' },
    { name: '/a b', read: '/a%20b', want: 'rejected' },
    { name: '/plain', read: undefined, want: 'nowhere' },
  ])('$name, which a NameNode without it reads as $read, is $want', async ({ name, read, want }) => {
    // HDFS 3.1.1 to 3.2.0 decodes the path of a URL twice (HDFS-14423). Other servers and gateways do not decode all of it.
    nn1.serve = () => ({
      status: 404,
      body: {
        RemoteException: { exception: 'FileNotFoundException', message: read && `File does not exist: ${read}` },
      },
    })
    const answer = await locate(open(), { ...query, name }).catch((error: unknown) => error)
    expect(answer).toMatchObject(want === 'nowhere' ? { kind: want } : { code: want })
  })

  test('sends the name of a partition as it is, since some servers do not decode it', async () => {
    await locate(open({ extra: { size: 'none' } }), { ...query, name: '/t/day=1,2@eu' })
    expect(nn1.requests[0]?.url).toBe('/webhdfs/v1/t/day=1,2@eu?op=GETFILESTATUS')
  })

  test('a path that looks like a region does not name one', async () => {
    const opened = open({ extra: { size: 'none', defaultFs: 'hdfs://lake' } })
    const answer = await locate(opened, { ...query, name: '/raw?region=eu' })
    expect(answer).toMatchObject({ location: 'hdfs://lake/raw%3Fregion=eu' })
  })

  test('a symbolic link is an error, since its target may be in another file system', async () => {
    nn1.serve = () => ({ body: { FileStatus: { type: 'SYMLINK', length: 0, symlink: 'hdfs://archive/x' } } })
    const error = await queryError(locate(open(), query))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('is a symbolic link') })
  })

  test('answers names of its NameNodes, and no name of another file system', async () => {
    const opened = open({ extra: { size: 'none', defaultFs: 'hdfs://lake' } })
    for (const name of ['hdfs://LAKE/x', nn2.url.replace('http:', 'webhdfs:').concat('/x'), 'hdfs://127.0.0.1/x']) {
      expect(await locate(opened, { ...query, name })).toMatchObject({ location: 'hdfs://lake/x' })
    }
    const sent = nn1.requests.length
    nn1.serve = () => exception(404, 'FileNotFoundException')
    for (const name of [
      'hdfs://archive/x',
      'file:///x',
      'viewfs://lake/x',
      's3a://lake/x',
      'webhdfs://127.0.0.1:1/x',
    ]) {
      const error = await queryError(locate(opened, { ...query, name }))
      expect(error).toMatchObject({ code: 'rejected', message: expect.stringContaining('this system is hdfs://lake') })
    }
    expect(nn1.requests).toHaveLength(sent)
  })

  test('sends its user', async () => {
    await locate(open({}, { type: 'simple', username: 'lodestone' }), query)
    expect(nn1.requests[0]?.query.get('user.name')).toBe('lodestone')
  })

  test('sends the token of a file, reads it again if rejected, and has it in no message', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'lodestone-'))
    const tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, 'first-token\n')
    const opened = open({}, { type: 'delegation', tokenFile })
    nn1.fault = ({ query: parameters }) => {
      if (parameters.get('delegation') === 'second-token') return undefined
      writeFileSync(tokenFile, 'second-token')
      return exception(401, 'SecurityException')
    }
    expect(await locate(opened, query)).toMatchObject({ kind: 'located' })
    nn1.fault = () => exception(401, 'SecurityException')
    const error = await queryError(locate(opened, query))
    expect(error.code).toBe('unauthorized')
    expect(String(error)).not.toContain('token')
    rmSync(folder, { recursive: true })
  })
})
