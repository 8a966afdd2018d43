/** Tests proxies with a real one on loopback, which connects an unknown host name to a real server. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { SkippingClock } from '../../base/time/clock.fake.ts'
import { parseSystemConfig } from '../config/config.ts'
import { queryError } from '../locality.suite.ts'
import { plugins } from '../plugins/index.ts'
import { DataServer } from './data-server.fake.ts'
import type { Environment } from './dispatchers.ts'
import { type HttpClient, openHttpClient } from './http.ts'
import { ProxyServer } from './proxy-server.fake.ts'
import { selfSigned } from './self-signed.fake.ts'

const HOST = 'catalog.invalid'
const never = new AbortController().signal
const folder = mkdtempSync(join(tmpdir(), 'lodestone-'))
let http: HttpClient | undefined

afterEach(async () => {
  await http?.close()
  http = undefined
})
afterAll(() => rmSync(folder, { recursive: true }))

function get(url: string, env: Environment, endpoint: object = {}, timeout = '20s') {
  const auth = { type: 'bearer', token: 'secret' }
  const retryConfig = { timeout }
  const document = { system: 'iceberg-rest', endpoint: { url, auth, ...endpoint }, retryConfig }
  const config = parseSystemConfig(join(folder, 'system.json'), JSON.stringify(document), plugins)
  http = openHttpClient(config, new SkippingClock(), env)
  return http.send({ method: 'GET', url: `${url}/v1/config?warehouse=w` }, never)
}

describe('to a server with http', () => {
  let server: DataServer
  let proxy: ProxyServer
  beforeEach(async () => {
    server = await new DataServer(() => ({ body: { ok: true } })).listen()
    proxy = await new ProxyServer(server.url).listen()
  })
  afterEach(async () => {
    await proxy.close()
    await server.close()
  })

  test('a request goes to the proxy in absolute form, with the credentials of the system', async () => {
    const { text } = await get(`http://${HOST}:8181`, { HTTP_PROXY: proxy.url })
    expect(text).toBe('{"ok":true}')
    expect(proxy.requests).toEqual([`GET http://${HOST}:8181/v1/config?warehouse=w`])
    expect(server.requests[0]?.headers).toMatchObject({ host: `${HOST}:8181`, authorization: 'Bearer secret' })
    expect(server.requests[0]?.headers).not.toHaveProperty('proxy-authorization')
  })

  test('credentials in the URL of the proxy go to the proxy only, and to no message', async () => {
    const env = { http_proxy: proxy.url.replace('://', '://user:pa%40ss@') }
    await get(`http://${HOST}`, env)
    expect(proxy.authorizations).toEqual([`Basic ${Buffer.from('user:pa@ss').toString('base64')}`])
    server.serve = () => ({ status: 503 })
    const error = await queryError(get(`http://${HOST}`, env))
    expect(error.message).toBe(`GET http://${HOST}/v1/config through proxy ${proxy.url}: HTTP 503`)
  })

  test.each([
    { name: 'HTTPS_PROXY alone', env: () => ({ HTTPS_PROXY: proxy.url }) },
    { name: 'NO_PROXY', env: () => ({ HTTP_PROXY: proxy.url, NO_PROXY: `.invalid,${HOST}` }) },
  ])('with $name the request goes directly to the server', async ({ env }) => {
    const error = await queryError(get(`http://${HOST}`, env(), {}, '2s'))
    expect(['unreachable', 'timeout']).toContain(error.code)
    expect(proxy.requests).toEqual([])
  })

  test('a server on this machine is never reached through a proxy', async () => {
    await get(server.url, { HTTP_PROXY: proxy.url })
    await get(server.url.replace('127.0.0.1', 'localhost'), { HTTP_PROXY: proxy.url })
    expect([server.requests.length, proxy.requests]).toEqual([2, []])
  })

  test('a proxy that refuses connections is named', async () => {
    await proxy.close()
    const error = await queryError(get(`http://${HOST}`, { HTTP_PROXY: proxy.url }))
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining(`through proxy ${proxy.url}`) })
    proxy = await new ProxyServer(server.url).listen()
  })

  test('a proxy without a scheme uses http, and another scheme is rejected', async () => {
    await get(`http://${HOST}`, { HTTP_PROXY: proxy.url.replace('http://', '') })
    expect(proxy.requests).toHaveLength(1)
    const error = await queryError(get(`http://${HOST}`, { HTTP_PROXY: 'ftp://user:hunter2@proxy' }))
    expect(error).toMatchObject({ code: 'rejected', message: expect.not.stringContaining('hunter2') })
  })

  test('a password with an invalid escape is rejected with the remedy', async () => {
    const env = { HTTP_PROXY: proxy.url.replace('://', '://user:hunter%2@') }
    const error = await queryError(get(`http://${HOST}`, env))
    expect(error).toMatchObject({ code: 'rejected', message: expect.stringMatching(/invalid escape; write % as %25$/) })
  })
})

describe('to a server with https', () => {
  const { cert, key } = selfSigned(HOST)
  let server: Server
  let proxy: ProxyServer
  let certified: boolean[]

  beforeAll(() => writeFileSync(join(folder, 'ca.crt'), cert))
  beforeEach(async () => {
    certified = []
    const options = { cert, key, ca: cert, requestCert: true, rejectUnauthorized: false }
    server = createServer(options, (request, response) => {
      certified.push((request.socket as unknown as { authorized: boolean }).authorized)
      response.end('{}')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    proxy = await new ProxyServer(`http://127.0.0.1:${(server.address() as AddressInfo).port}`).listen()
    writeFileSync(join(folder, 'tls.key'), key)
  })
  afterEach(async () => {
    await proxy.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  test.each([
    { tls: { caFile: 'ca.crt' }, wantCertificate: false },
    { tls: { insecureSkipVerify: true }, wantCertificate: false },
    { tls: { caFile: 'ca.crt', certFile: 'ca.crt', keyFile: 'tls.key' }, wantCertificate: true },
  ])('the tunnel uses the TLS settings of the system: $tls', async ({ tls, wantCertificate }) => {
    expect((await get(`https://${HOST}`, { HTTPS_PROXY: proxy.url }, { tls })).status).toBe(200)
    expect(proxy.requests).toEqual([`CONNECT ${HOST}:443`])
    expect(certified).toEqual([wantCertificate])
  })

  test('a host with a final dot is named without it, and so is its certificate', async () => {
    const names: string[] = []
    server.on('secureConnection', (socket: { servername: string }) => names.push(socket.servername))
    await get(`https://${HOST}.`, { HTTPS_PROXY: proxy.url }, { tls: { caFile: 'ca.crt' } })
    expect([proxy.requests, names]).toEqual([[`CONNECT ${HOST}.:443`], [HOST]])
  })

  test('a server with an unknown authority is rejected', async () => {
    expect((await queryError(get(`https://${HOST}`, { HTTPS_PROXY: proxy.url }))).code).toBe('rejected')
    expect(certified).toEqual([])
  })

  test('the error of a rejected CONNECT names the proxy', async () => {
    proxy.connectStatus = 403
    const error = await queryError(get(`https://${HOST}`, { HTTPS_PROXY: proxy.url }))
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining(`through proxy ${proxy.url}`) })
  })

  test('a proxy that refuses connections is named', async () => {
    await proxy.close()
    const error = await queryError(get(`https://${HOST}`, { HTTPS_PROXY: proxy.url }))
    expect(error).toMatchObject({ code: 'unreachable', message: expect.stringContaining(`through proxy ${proxy.url}`) })
    proxy = await new ProxyServer(proxy.url).listen()
  })

  test('certificates of NODE_EXTRA_CA_CERTS are trusted through a proxy', async () => {
    // Node reads the variable only at its start.
    const script = `
      const { openHttpClient } = await import('${join(import.meta.dirname, 'http.ts')}')
      const endpoint = { urls: ['https://${HOST}'], auth: { type: 'none', secrets: {} }, tls: { insecureSkipVerify: false } }
      const clock = { now: () => 0, epochMs: () => 0, after: (_ms, run) => (queueMicrotask(run), () => {}), random: () => 0 }
      const config = { endpoint, retry: { timeoutMs: 20_000 }, maxConcurrent: 1, maxRequestsPerSecond: 1 }
      const http = openHttpClient(config, clock)
      const { status } = await http.send({ method: 'GET', url: 'https://${HOST}/' }, new AbortController().signal)
      await http.close()
      process.stdout.write(String(status))`
    const env = { HTTPS_PROXY: proxy.url, NODE_EXTRA_CA_CERTS: join(folder, 'ca.crt') }
    const run = promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], { env })
    expect((await run).stdout).toBe('200')
    expect(proxy.requests).toEqual([`CONNECT ${HOST}:443`])
  })

  test('a proxy without a response ends the request at its timeout and leaves no client', async () => {
    proxy.connectStatus = 'hang'
    const request = get(`https://${HOST}`, { HTTPS_PROXY: proxy.url }, {}, '400ms')
    expect((await queryError(request)).code).toBe('timeout')
    await http?.close()
    http = undefined
  })
})
