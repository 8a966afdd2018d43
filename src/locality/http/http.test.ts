/** Tests the HTTP client: concurrent requests, credentials and TLS. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../../base/time/clock.fake.ts'
import { parseSystemConfig } from '../config/config.ts'
import { queryError } from '../locality.suite.ts'
import { plugins } from '../plugins/index.ts'
import { DataServer } from './data-server.fake.ts'
import { type HttpClient, openHttpClient } from './http.ts'
import { selfSigned } from './self-signed.fake.ts'

const never = new AbortController().signal
let http: HttpClient | undefined
const folder = mkdtempSync(join(tmpdir(), 'lodestone-'))

afterEach(async () => {
  await http?.close()
  http = undefined
})
afterAll(() => rmSync(folder, { recursive: true }))

function open(url: string, given: Record<string, unknown> = {}, clock = new SkippingClock()): HttpClient {
  const { endpoint, ...rest } = given
  const document = { system: 'iceberg-rest', endpoint: { url, ...(endpoint as object) }, ...rest }
  http = openHttpClient(parseSystemConfig(join(folder, 'system.json'), JSON.stringify(document), plugins), clock)
  return http
}

describe('requests', () => {
  let server: DataServer
  beforeEach(async () => {
    server = await new DataServer(() => ({ body: {} })).listen()
  })
  afterEach(() => server.close())

  test.each([408, 429, 500, 503])('a request that got %i is not sent again, and throws', async (status) => {
    server.serve = () => ({ status })
    await queryError(open(server.url).send({ method: 'GET', url: server.url }, never))
    expect(server.requests).toHaveLength(1)
  })

  test.each([400, 401, 403, 404, 409])('a response with %i is returned', async (status) => {
    server.serve = () => ({ status })
    expect((await open(server.url).send({ method: 'GET', url: server.url }, never)).status).toBe(status)
    expect(server.requests).toHaveLength(1)
  })

  test('concurrent requests are limited, and an aborted request leaves the queue', async () => {
    let running = 0
    let most = 0
    const gate = Promise.withResolvers<void>()
    server.serve = async () => {
      most = Math.max(most, ++running)
      await gate.promise
      running -= 1
      return { body: {} }
    }
    const client = open(server.url, { maxConcurrent: 2 })
    const aborter = new AbortController()
    const asked = [1, 2, 3, 4].map(() => client.send({ method: 'GET', url: server.url }, never))
    const leaver = client.send({ method: 'GET', url: server.url }, aborter.signal)
    await expect.poll(() => running).toBe(2)
    aborter.abort(new Error('enough'))
    await expect(leaver).rejects.toThrow('enough')
    gate.resolve()
    await Promise.all(asked)
    expect([most, server.requests.length]).toEqual([2, 4])
  })

  test('the rate of requests is limited', async () => {
    const clock = new SkippingClock()
    const client = open(server.url, { maxRequestsPerSecond: 10 }, clock)
    for (let i = 0; i < 13; i++) await client.send({ method: 'GET', url: server.url }, never)
    expect(server.requests).toHaveLength(13)
    expect(clock.skipped).toEqual([100, 100, 100])
  })
})

describe('credentials', () => {
  let server: DataServer
  beforeEach(async () => {
    server = await new DataServer(() => ({ body: {} })).listen()
  })
  afterEach(() => server.close())
  const get = (auth: object) => open(server.url, { endpoint: { auth } }).send({ method: 'GET', url: server.url }, never)

  test('are read from their file for each request, and again when they are rejected', async () => {
    const tokenFile = join(folder, 'token')
    writeFileSync(tokenFile, 'one\n')
    await get({ type: 'bearer', tokenFile: 'token' })
    server.fault = ({ headers }) => {
      if (headers.authorization === 'Bearer two') return undefined
      writeFileSync(tokenFile, 'two\n')
      return { status: 401 }
    }
    expect((await get({ type: 'bearer', tokenFile })).status).toBe(200)
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer one',
      'Bearer one',
      'Bearer two',
    ])
  })

  test.each([1, 16])('do not expire while their request waits for the limits (%i at once)', async (maxConcurrent) => {
    const clock = new SkippingClock()
    let expired = 0
    server.serve = ({ path, headers }) => {
      if (path === '/token') return { body: { access_token: `${clock.epochMs()}`, expires_in: 2 } }
      const issuedAt = Number(headers.authorization?.slice('Bearer '.length))
      if (clock.epochMs() - issuedAt < 2000) return { body: {} }
      expired += 1
      return { status: 401 }
    }
    const auth = { type: 'oauth2', clientSecret: 'secret', tokenUrl: `${server.url}/token` }
    const client = open(server.url, { endpoint: { auth }, maxRequestsPerSecond: 1, maxConcurrent }, clock)
    const send = () => client.send({ method: 'GET', url: server.url }, never)

    const responses = await Promise.all(Array.from({ length: 6 }, send))

    expect({ statuses: responses.map(({ status }) => status), expired }).toEqual({
      statuses: Array(6).fill(200),
      expired: 0,
    })
  })

  test('that did not change are not sent again', async () => {
    server.serve = () => ({ status: 419 })
    expect((await get({ type: 'bearer', token: 'one' })).status).toBe(419)
    expect(server.requests).toHaveLength(1)
  })

  test('with a missing file cause an error with its name', async () => {
    const error = await queryError(get({ type: 'bearer', tokenFile: 'missing' }))
    expect(error).toMatchObject({
      code: 'unauthorized',
      message: `endpoint.auth.tokenFile: ${join(folder, 'missing')} cannot be read`,
    })
    expect(server.requests).toEqual([])
  })

  test.each([
    { auth: { type: 'basic', username: 'u', password: 'p' }, header: 'authorization', want: 'Basic dTpw' },
    { auth: { type: 'Token', token: 't' }, header: 'authorization', want: 'Bearer t' },
    { auth: { type: 'apikey', token: 'k' }, header: 'x-api-key', want: 'k' },
    { auth: { type: 'apikey', apiKey: 'k', extra: { header: 'X-Mine' } }, header: 'x-mine', want: 'k' },
  ])('go into $header', async ({ auth, header, want }) => {
    await get(auth)
    expect(server.requests[0]?.headers[header]).toBe(want)
  })
})

describe('TLS', () => {
  const asked: boolean[] = []
  let server: Server
  let url: string

  beforeAll(async () => {
    const { cert, key } = selfSigned('127.0.0.1')
    writeFileSync(join(folder, 'ca.crt'), cert)
    writeFileSync(join(folder, 'tls.key'), key)
    server = createServer(
      { cert, key, ca: cert, requestCert: true, rejectUnauthorized: false },
      (request, response) => {
        asked.push((request.socket as unknown as { authorized: boolean }).authorized)
        response.end('{}')
      },
    )
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  afterAll(() => new Promise((resolve) => server.close(resolve)))
  const get = (tls: object) => open(url, { endpoint: { tls } }).send({ method: 'GET', url }, never)

  test('an unknown authority is rejected without a retry', async () => {
    expect((await queryError(get({}))).code).toBe('rejected')
  })

  test.each([
    { tls: { caFile: 'ca.crt' }, wantCertificate: false },
    { tls: { insecureSkipVerify: true }, wantCertificate: false },
    { tls: { enabled: true, caFile: 'ca.crt', certFile: 'ca.crt', keyFile: 'tls.key' }, wantCertificate: true },
  ])('$tls is trusted', async ({ tls, wantCertificate }) => {
    expect((await get(tls)).status).toBe(200)
    expect(asked.at(-1)).toBe(wantCertificate)
  })
})
