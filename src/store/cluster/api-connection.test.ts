import { describe, expect, onTestFinished, test } from 'vitest'
import { resourceBindings } from '../../api/karmada.ts'
import { collectionPath } from '../../api/meta.ts'
import { until } from '../../base/time/clock.fake.ts'
import { type ApiConnection, createConnection, type RequestObserver } from './api-connection.ts'
import { ApiError } from './api-error.ts'
import { hang, json, reset, status } from './api-responses.fake.ts'
import { type FakeApiServer, startFakeApiServer } from './api-server.fake.ts'

const path = collectionPath(resourceBindings)

async function open(
  prefix = '',
  observe?: RequestObserver,
): Promise<{ server: FakeApiServer; connection: ApiConnection }> {
  const server = await startFakeApiServer([resourceBindings])
  const source = {
    server: server.url + prefix,
    read: async () => ({ headers: { authorization: 'Bearer secret' }, transport: { tls: {} } }),
    forget: () => {},
  }
  const connection = createConnection(source, observe)
  onTestFinished(() => connection.close())
  return { server, connection }
}

describe('a request', () => {
  test('has the path of the server, the query and the body', async () => {
    const { server, connection } = await open('/k8s/clusters/c1/')
    server.misbehave((request) => request.path === '/k8s/clusters/c1/api/x', json(200, { fine: true }))
    const query = { limit: 5, watch: false, continue: undefined, selector: 'a=b&c' }
    const contentType = 'application/merge-patch+json'
    expect(await connection.request('PATCH', '/api/x', { query, body: {}, contentType })).toEqual({ fine: true })
    expect(String(server.requests[0]?.query)).toBe('limit=5&watch=false&selector=a%3Db%26c')
    expect(server.requests[0]?.headers).toMatchObject({ 'content-type': contentType, authorization: 'Bearer secret' })
  })

  test('with an empty response returns undefined', async () => {
    const { server, connection } = await open()
    server.misbehave(
      () => true,
      (response) => void response.end(),
    )
    expect(await connection.request('DELETE', path)).toBeUndefined()
  })

  test('that is rejected throws the reason and Retry-After', async () => {
    const { server, connection } = await open()
    server.misbehave(() => true, status(429, 'TooManyRequests', { 'retry-after': '2' }))
    const error = await connection.request('GET', path).catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({ status: 429, reason: 'TooManyRequests', retryAfterMs: 2000 })
  })

  test('is observed with its method, its host and its status', async () => {
    const seen: string[] = []
    const { server, connection } = await open('', ({ method, host, code }) => seen.push(`${method} ${host} ${code}`))
    server.misbehave(({ path }) => path === '/a', json(200, {}))
    server.misbehave(({ path }) => path === '/b', status(429, 'TooManyRequests'))
    server.misbehave(({ path }) => path === '/c', reset)
    for (const path of ['/a', '/b', '/c']) await connection.request('GET', path).catch(() => undefined)
    const { host } = new URL(server.url)
    expect(seen).toEqual([`GET ${host} 200`, `GET ${host} 429`, `GET ${host} <error>`])
  })

  test('without a response in time throws', async () => {
    const { server, connection } = await open()
    server.misbehave(() => true, hang)
    const request = connection.request('GET', path, { timeoutMs: 20 })
    await expect(request).rejects.toThrow(`GET ${path}: no response within 20 ms`)
    await until(() => server.openSockets === 0)
  })

  test('whose response does not end in time throws', async () => {
    const { server, connection } = await open()
    server.misbehave(
      () => true,
      (response) => void response.write('{"items": ['),
    )
    await expect(connection.request('GET', path, { timeoutMs: 20 })).rejects.toThrow('no response within 20 ms')
  })

  test('ends when its signal aborts, before or during the request', async () => {
    const { server, connection } = await open()
    const aborted = AbortSignal.abort(new Error('enough'))
    await expect(connection.request('GET', path, { signal: aborted })).rejects.toThrow('enough')
    server.misbehave(() => true, hang)
    const abort = new AbortController()
    const request = connection.request('GET', path, { signal: abort.signal })
    await until(() => server.requests.length === 1)
    abort.abort(new Error('enough'))
    await expect(request).rejects.toThrow('enough')
  })

  test('over a broken connection throws the request and the cause', async () => {
    const { server, connection } = await open()
    server.misbehave(() => true, reset)
    await expect(connection.request('GET', path)).rejects.toThrow(`GET ${path}: `)
    await server.close()
    await expect(connection.request('GET', path)).rejects.toThrow('ECONNREFUSED')
  })

  test('after the connection was closed throws, and no socket stays open', async () => {
    const { server, connection } = await open()
    await connection.request('GET', path)
    await connection.close()
    await expect(connection.request('GET', path)).rejects.toThrow('the connection is closed')
    await until(() => server.openSockets === 0)
  })
})
