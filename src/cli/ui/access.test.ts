import { describe, expect, test } from 'vitest'
import { openAccess, type RequestHeaders } from './access.ts'

function opened(hosts: string[] = []) {
  const access = openAccess(8000, hosts)
  const cookie = access.redeem(access.issueToken())?.split(';')[0] ?? ''
  return { access, cookie }
}

test('a link works once', () => {
  const { access } = opened()
  const token = access.issueToken()
  expect(access.redeem(token)).toContain('HttpOnly; SameSite=Strict')
  expect(access.redeem(token)).toBeUndefined()
})

test('a new link ends the one before', () => {
  const { access } = opened()
  const first = access.issueToken()
  access.issueToken()
  expect(access.redeem(first)).toBeUndefined()
})

describe('a request', () => {
  const host = '127.0.0.1:8000'
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
  ])('$name', ({ headers, status }) => {
    const { access, cookie } = opened(['fleet.example.org'])
    expect(access.rejection(headers(cookie))?.status).toBe(status)
  })
})

test('the oldest of many sessions ends', () => {
  const { access, cookie } = opened()
  for (let i = 0; i < 20; i++) access.redeem(access.issueToken())
  expect(access.rejection({ host: '127.0.0.1:8000', cookie })?.status).toBe(401)
})
