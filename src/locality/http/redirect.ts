/** Decides whether a redirect is followed: only to the server that sent it, since the request has credentials. */
import type { HttpRequest, HttpResponse } from './transport.ts'

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** The target of a redirect to the same server; undefined for any other response. */
export function redirectOf({ method, url }: HttpRequest, response: HttpResponse): string | undefined {
  const target = targetOf(response, url)
  if (target === null || method === 'POST') return undefined
  const { origin, username, password, href } = target
  return origin === new URL(url).origin && username === '' && password === '' ? href : undefined
}

/** The target server of a redirect, for messages; undefined for a response that does not name another server. */
export function redirectOrigin(response: HttpResponse): string | undefined {
  const origin = targetOf(response)?.origin
  return origin === undefined || origin === 'null' ? undefined : origin.slice(0, 200)
}

function targetOf({ status, headers }: HttpResponse, base?: string): URL | null {
  const { location } = headers
  return location !== undefined && REDIRECTS.has(status) ? URL.parse(location, base) : null
}
