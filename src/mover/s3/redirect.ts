/** Redirects of S3 servers with status 307 or 308: followed once, and only to the origin that gets the credentials. */
import { MoverError } from '../mover-error.ts'

export interface Target {
  /** Encoded, without the query. */
  path: string
  /** Decoded. */
  query: [name: string, value: string][]
}

/** Whether a response redirects the same request to another URL. */
export function isRedirect(status: number): boolean {
  return status === 307 || status === 308
}

/**
 * Returns where to send the request again.
 *
 * @param what names the object in errors
 * @throws MoverError `Rejected` for another origin, which must not get the credentials, and without a valid location
 */
export function redirectTarget(what: string, location: string | undefined, origin: string, path: string): Target {
  const base = `${origin}${path}`
  const url = location !== undefined && URL.canParse(location, base) ? new URL(location, base) : undefined
  if (url === undefined) throw new MoverError('Rejected', `${what}: the server redirects without a valid location`)
  if (url.origin !== origin) {
    const wayOut = 'set it as --endpoint, which is the option endpointURL of the volume'
    throw new MoverError('Rejected', `${what}: the server redirects to ${url.origin}; ${wayOut}`)
  }
  return { path: url.pathname, query: [...url.searchParams] }
}
