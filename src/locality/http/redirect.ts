/** Decides where a redirect leads: only to the server that gave it, since credentials go with the request. */
import type { HttpRequest, HttpResponse } from './transport.ts'

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** The URL of the same server to which an answer redirects; undefined for any other answer. */
export function redirectOf({ method, url }: HttpRequest, response: HttpResponse): string | undefined {
  const target = targetOf(response, url)
  if (target === null || method === 'POST') return undefined
  const { origin, username, password, href } = target
  return origin === new URL(url).origin && username === '' && password === '' ? href : undefined
}

/** The server to which an answer redirects, for messages; undefined when it is not a redirect to another server. */
export function redirectOrigin(response: HttpResponse): string | undefined {
  const origin = targetOf(response)?.origin
  return origin === undefined || origin === 'null' ? undefined : origin.slice(0, 200)
}

function targetOf({ status, headers }: HttpResponse, base?: string): URL | null {
  const { location } = headers
  return location !== undefined && REDIRECTS.has(status) ? URL.parse(location, base) : null
}
