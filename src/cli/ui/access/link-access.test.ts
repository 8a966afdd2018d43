import { fastify } from 'fastify'
import { describe, expect, test } from 'vitest'
import type { RequestHeaders } from './hosts.ts'
import { openLinkAccess } from './link-access.ts'
import { OWNER } from './viewer.ts'

const host = '127.0.0.1:8000'

/** An access on port 8000, with the cookie of an opened link. */
async function opened(hosts: string[] = []) {
  const used: string[] = []
  const access = openLinkAccess({ owner: OWNER, hosts, onUsedLink: (makeLink) => used.push(makeLink()) })
  const server = fastify()
  access.addRoutes(server)
  const open = async (link: string) => {
    const { pathname, search } = new URL(link)
    const { statusCode, headers } = await server.inject(pathname + search)
    return { status: statusCode, cookie: String(headers['set-cookie'] ?? '') }
  }
  const link = access.begin(8000)
  const { cookie } = await open(link)
  return { access, open, link, used, setCookie: cookie, cookie: cookie.split(';')[0] ?? '' }
}

/** The status of a rejected request; undefined for an accepted one. */
async function statusOf(access: ReturnType<typeof openLinkAccess>, headers: RequestHeaders) {
  return (access.hostRejection(headers) ?? (await access.identify(headers)).rejection)?.status
}

test('a link works once, and then another one is made', async () => {
  const { open, link, used, setCookie } = await opened()
  expect(setCookie).toContain('HttpOnly; SameSite=Strict')
  expect(await open(link)).toEqual({ status: 403, cookie: '' })
  expect(await open(used[0] ?? '')).toMatchObject({ status: 303 })
})

test('a program that only looks at a link does not use it', async () => {
  const access = openLinkAccess({ owner: OWNER, hosts: [], onUsedLink: () => undefined })
  const server = fastify()
  access.addRoutes(server)
  const { pathname, search } = new URL(access.begin(8000))
  const look = await server.inject({ method: 'HEAD', url: pathname + search })
  expect([look.statusCode, look.headers['set-cookie']]).toEqual([303, undefined])
  expect((await server.inject(pathname + search)).headers['set-cookie']).toContain('lodestone-8000=')
})

test('a new link ends the one before', async () => {
  const { access, open } = await opened()
  const first = access.begin(8000)
  access.begin(8000)
  expect(await open(first)).toMatchObject({ status: 403 })
})

test('no request is served before the server listens', () => {
  const access = openLinkAccess({ owner: OWNER, hosts: [], onUsedLink: () => undefined })
  expect(access.hostRejection({ host })).toMatchObject({ status: 503 })
})

describe('a request', () => {
  test.each<{ name: string; headers: (cookie: string) => RequestHeaders; status?: number }>([
    { name: 'of the page is answered', headers: (cookie) => ({ host, cookie }) },
    { name: 'at localhost is answered', headers: (cookie) => ({ host: 'localhost:8000', cookie }) },
    { name: 'at a configured host is answered', headers: (cookie) => ({ host: 'fleet.example.org', cookie }) },
    {
      name: 'with its own origin is answered',
      headers: (cookie) => ({ host, cookie, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }),
    },
    { name: 'without a session is rejected', headers: () => ({ host }), status: 401 },
    { name: 'with another session is rejected', headers: () => ({ host, cookie: 'lodestone-8000=x' }), status: 401 },
    {
      name: 'at a name that an attacker resolves to this machine is rejected',
      headers: (cookie) => ({ host: 'evil.example:8000', cookie }),
      status: 421,
    },
    { name: 'without a host is rejected', headers: (cookie) => ({ cookie }), status: 421 },
    {
      name: 'of a page of another site is rejected',
      headers: (cookie) => ({ host, cookie, origin: 'https://evil.example' }),
      status: 403,
    },
    {
      name: 'of another port of this machine is rejected',
      headers: (cookie) => ({ host, cookie, origin: 'http://127.0.0.1:9000', 'sec-fetch-site': 'same-site' }),
      status: 403,
    },
    {
      name: 'of a frame without an origin is rejected',
      headers: (cookie) => ({ host, cookie, origin: 'null' }),
      status: 403,
    },
  ])('$name', async ({ headers, status }) => {
    const { access, cookie } = await opened(['fleet.example.org'])
    expect(await statusOf(access, headers(cookie))).toBe(status)
  })
})

test('a browser may leave out the default port, and no other port is accepted', () => {
  const access = openLinkAccess({ owner: OWNER, hosts: [], onUsedLink: () => undefined })
  access.begin(80)
  expect(['127.0.0.1', '[::1]', 'localhost:80'].map((name) => access.hostRejection({ host: name }))).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(access.hostRejection({ host: '127.0.0.1', origin: 'http://127.0.0.1:9000' })).toMatchObject({ status: 403 })
  expect(access.hostRejection({ host: 'evil.example' })).toMatchObject({ status: 421 })
})

test('the oldest of many sessions ends', async () => {
  const { access, open, cookie } = await opened()
  for (let i = 0; i < 20; i++) await open(access.begin(8000))
  expect(await statusOf(access, { host, cookie })).toBe(401)
})
