import { fastify } from 'fastify'
import { describe, expect, test } from 'vitest'
import { TestClock } from '../../src/base/time/clock.fake.ts'
import type { RequestHeaders } from '../../src/cli/ui/access/hosts.ts'
import { openTokenAccess } from '../../src/cli/ui/access/token-access.ts'
import { viewerWith } from '../../src/cli/ui/access/viewer.fake.ts'
import type { Viewer } from '../../src/cli/ui/access/viewer.ts'

const reader = viewerWith([])
const userOf = (token: string): Viewer => ({ ...reader, user: token })
const host = 'lodestone.example.org'

function stage() {
  const clock = new TestClock()
  const accepted = new Set(['good'])
  const users = {
    viewerOf: async (token: string) =>
      token.startsWith('user') ? userOf(token) : accepted.has(token) ? reader : undefined,
  }
  const access = openTokenAccess({ users, hosts: [host], clock })
  const server = fastify()
  access.addRoutes(server)
  const logIn = async (payload: object) => {
    const { statusCode, headers, body } = await server.inject({ method: 'POST', url: '/login', payload })
    return { status: statusCode, cookie: String(headers['set-cookie'] ?? ''), body }
  }
  const logOut = (cookie: string) => server.inject({ method: 'POST', url: '/logout', headers: { cookie } })
  const identify = async (headers: RequestHeaders) => {
    const { viewer, rejection } = await access.identify({ host, ...headers })
    return viewer ?? rejection.status
  }
  const session = async (token = 'good') => (await logIn({ token })).cookie.split(';')[0] ?? ''
  return { clock, accepted, access, logIn, logOut, identify, session }
}

test('a reader is identified by a token, or by the session that it began with one', async () => {
  const { identify, session } = stage()
  expect(await identify({ authorization: 'Bearer good' })).toBe(reader)
  expect(await identify({ cookie: await session() })).toBe(reader)
})

test('browsers send the cookie of a session to this host alone, and no script reads it', async () => {
  const { logIn } = stage()
  expect((await logIn({ token: 'good' })).cookie).toMatch(
    /^__Host-lodestone=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict; Max-Age=43200$/,
  )
})

describe('no reader is', () => {
  test.each<{ name: string; headers: RequestHeaders }>([
    { name: 'without a token', headers: {} },
    { name: 'with another token', headers: { authorization: 'Bearer bad' } },
    { name: 'with another scheme', headers: { authorization: 'Basic good' } },
    { name: 'with a token of more than 32 KiB', headers: { authorization: `Bearer ${'a'.repeat(33_000)}` } },
    { name: 'with an unknown session', headers: { cookie: '__Host-lodestone=x' } },
    { name: 'with an empty session', headers: { cookie: '__Host-lodestone=' } },
  ])('a request $name', async ({ headers }) => {
    expect(await stage().identify(headers)).toBe(401)
  })
})

test.each([
  { name: 'a token that is not accepted', payload: { token: 'bad' }, status: 401 },
  { name: 'no token', payload: {}, status: 422 },
  { name: 'an empty token', payload: { token: ' ' }, status: 422 },
  { name: 'a number', payload: { token: 5 }, status: 422 },
])('$name begins no session', async ({ payload, status }) => {
  expect(await stage().logIn(payload)).toMatchObject({ status, cookie: '' })
})

describe('a session ends', () => {
  test('when the reader logs out', async () => {
    const { identify, session, logOut } = stage()
    const cookie = await session()
    await logOut(cookie)
    expect(await identify({ cookie })).toBe(401)
  })

  test('after twelve hours', async () => {
    const { identify, session, clock } = stage()
    const cookie = await session()
    clock.advance(12 * 3_600_000)
    expect(await identify({ cookie })).toBe(401)
  })

  test('when the API server no longer accepts its token', async () => {
    const { identify, session, accepted } = stage()
    const cookie = await session()
    accepted.clear()
    expect(await identify({ cookie })).toBe(401)
  })

  test('when a thousand newer ones began', async () => {
    const { identify, session } = stage()
    const cookie = await session()
    for (let i = 0; i < 1_000; i++) await session(`user${i % 20}`)
    expect(await identify({ cookie })).toBe(401)
  })

  test('when a hundred newer ones of the same user began, and those of others go on', async () => {
    const { identify, session } = stage()
    const cookie = await session()
    const own = await session('user')
    for (let i = 0; i < 1_000; i++) await session('user')
    expect(await identify({ cookie })).toBe(reader)
    expect(await identify({ cookie: own })).toBe(401)
  })
})

test('requests to another host, and of pages of another site, are rejected', () => {
  const { access } = stage()
  expect(access.hostRejection({ host })).toBeUndefined()
  expect(access.hostRejection({ host: 'localhost:9000' })).toBeUndefined()
  expect(access.hostRejection({ host: 'evil.example' })).toMatchObject({ status: 421 })
  expect(access.hostRejection({ host, origin: 'https://evil.example' })).toMatchObject({ status: 403 })
})
