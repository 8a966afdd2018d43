/** Redirects of S3 servers with status 307 or 308: followed once, and only to the origin that gets the credentials. */
import type { HttpResponse } from '../http/messages.ts'
import { isRedirect } from '../http/server-error.ts'

export interface Target {
  /** Encoded, without the query. */
  path: string
  /** Decoded. */
  query: [name: string, value: string][]
}

/** Where to send a request again; undefined when the response is no redirect to the same origin. */
export function redirectTarget({ status, headers }: HttpResponse, origin: string, path: string): Target | undefined {
  const { location } = headers
  const base = `${origin}${path}`
  if (!isRedirect(status) || location === undefined || !URL.canParse(location, base)) return undefined
  const url = new URL(location, base)
  return url.origin === origin ? { path: url.pathname, query: [...url.searchParams] } : undefined
}
