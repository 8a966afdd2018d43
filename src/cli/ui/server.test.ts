/** Tests the server of the page with an access that must ask who the reader of a request is. */
import { once } from 'node:events'
import { get, request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
import { openTokenAccess } from './access/token-access.ts'
import { OWNER } from './access/viewer.ts'
import { EMPTY_LISTS } from './lists.fake.ts'
import type { Asker } from './questions/one-at-a-time.ts'
import { buildPageServer, type PageServerInput } from './server.ts'

test('a reader that leaves while it is identified does not follow the events for ever', async () => {
  const [asked, known, handled] = [0, 1, 2].map(() => Promise.withResolvers<void>())
  let readers = 0
  const { fastify, listen } = buildPageServer({
    view: {
      current: async () => ({ revision: 1, lists: EMPTY_LISTS }),
      subscribe() {
        readers += 1
        return () => (readers -= 1)
      },
    },
    access: {
      hostRejection: () => undefined,
      async identify() {
        asked?.resolve()
        await known?.promise
        return { viewer: OWNER }
      },
      publicPaths: new Set(),
      addRoutes: () => undefined,
    },
    isServed: () => true,
    freshness: () => ({ unavailable: [] }),
    assets: new Map(),
    clock: new TestClock(),
  } as unknown as PageServerInput)
  fastify.addHook('preHandler', async () => handled?.resolve())
  onTestFinished(() => fastify.close())
  const port = await listen({ host: '127.0.0.1', port: 0 })
  const connected = once(fastify.server, 'connection')

  const request = get({ port, path: '/v1/events' })
  request.on('error', () => undefined)
  const [socket] = (await connected) as [Socket]
  await asked?.promise
  request.destroy()
  await once(socket, 'close')
  known?.resolve()
  await handled?.promise
  await new Promise(setImmediate)

  expect(readers).toBe(0)
})

test.each(['/v1/check', '/v1/what-if'])('%s learns that its reader has left', async (path) => {
  const asked = Promise.withResolvers<Asker>()
  const answer = async (_body: unknown, asker: Asker) => {
    asked.resolve(asker)
    await once(asker.left, 'abort')
    throw asker.left.reason
  }
  const { fastify, listen } = buildPageServer({
    access: {
      hostRejection: () => undefined,
      identify: async () => ({ viewer: { ...OWNER, user: 'eve' } }),
      publicPaths: new Set(),
      addRoutes: () => undefined,
    },
    cachedKinds: () => [],
    isServed: () => true,
    check: answer,
    whatIf: answer,
    assets: new Map(),
  } as unknown as PageServerInput)
  onTestFinished(() => fastify.close())
  const port = await listen({ host: '127.0.0.1', port: 0 })

  const request = sendRequest({ port, path, method: 'POST', headers: { 'content-type': 'application/json' } })
  request.on('error', () => undefined)
  request.end('{}')
  const { user, left } = await asked.promise
  expect({ user, hasLeft: left.aborted }).toEqual({ user: 'eve', hasLeft: false })
  request.destroy()
  await once(left, 'abort')
})

const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }

test.each<{ name: string; method?: 'POST'; url: string; headers?: Record<string, string>; want: number }>([
  { name: 'a link on another site opens a view', url: '/what-if?cluster-lost=member2', want: 200 },
  {
    name: 'a link on another page of the site opens it',
    url: '/',
    headers: { 'sec-fetch-site': 'same-site' },
    want: 200,
  },
  { name: 'a link does not open the API', url: '/v1/claims', want: 403 },
  { name: 'another site shows no view in a frame', url: '/', headers: { 'sec-fetch-dest': 'iframe' }, want: 403 },
  { name: 'a script of another site reads no view', url: '/', headers: { 'sec-fetch-mode': 'cors' }, want: 403 },
  { name: 'a form of another site logs in no reader', method: 'POST', url: '/login', want: 403 },
  { name: 'a link with another host opens no view', url: '/', headers: { host: 'evil.example' }, want: 421 },
])('with tokens, $name', async ({ method = 'GET', url, headers, want }) => {
  const clock = new TestClock()
  const { fastify } = buildPageServer({
    access: openTokenAccess({ users: { viewerOf: async () => undefined }, hosts: ['lodestone.example.org'], clock }),
    assets: new Map([['index.html', { type: 'text/html', content: Buffer.from('page') }]]),
    clock,
  } as unknown as PageServerInput)
  onTestFinished(() => fastify.close())
  const { statusCode } = await fastify.inject({
    method,
    url,
    headers: { host: 'lodestone.example.org', ...link, ...headers },
  })
  expect(statusCode).toBe(want)
})
