/** Tests the server of the page with an access that must ask who the reader of a request is. */
import { once } from 'node:events'
import { get, request as sendRequest } from 'node:http'
import type { Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { TestClock } from '../../base/time/clock.fake.ts'
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
