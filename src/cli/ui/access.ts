/**
 * Access to the page: only a browser that opened the printed link has it. Pure, except for random numbers.
 *
 * A page of another site must not read the fleet through the browser of the user. It could try by a name that resolves to this machine (DNS
 * rebinding), by its own request (cross-site request forgery), or in a frame.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto'

/** Headers of every response. Scripts, styles and data come from this server only; nothing is inline. */
export const SECURITY_HEADERS: Readonly<Record<string, string>> = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

export interface RequestHeaders {
  host?: string | undefined
  origin?: string | undefined
  cookie?: string | undefined
  'sec-fetch-site'?: string | string[] | undefined
}

/** Why a request is rejected. */
export interface Rejection {
  status: number
  message: string
}

export interface Access {
  /** Returns a new token for one link. Earlier links that were not opened end. */
  issueToken(): string
  /** Ends the token and returns the cookie of a session; undefined for a token that is unknown or was used. */
  redeem(token: string): string | undefined
  /** Why a request may not read the fleet, by its headers. */
  rejection(headers: RequestHeaders): Rejection | undefined
  /** The same, for requests before a session exists. */
  hostRejection(headers: RequestHeaders): Rejection | undefined
}

const TOKEN_BYTES = 32
/** Browsers of one user, and their private windows. The oldest session ends. */
const MAX_SESSIONS = 20

/**
 * Returns the access rules of a server.
 *
 * @param port the port that the server listens on
 * @param hosts further values of the header `Host`, without a port, for a proxy before the server
 */
export function openAccess(port: number, hosts: readonly string[]): Access {
  const names = new Set(
    [...['127.0.0.1', 'localhost', '[::1]'].map((name) => `${name}:${port}`), ...hosts.flatMap(withAnyPort(port))].map(
      (name) => name.toLowerCase(),
    ),
  )
  // A browser sends the cookies of a host to all of its ports.
  const cookieName = `lodestone-${port}`
  let token: string | undefined
  const sessions: string[] = []

  function hostRejection({ host = '', origin, 'sec-fetch-site': site }: RequestHeaders): Rejection | undefined {
    if (!names.has(host.toLowerCase())) {
      return { status: 421, message: `host ${host.slice(0, 100)} is not served; allow it with --host` }
    }
    if (site === 'cross-site' || site === 'same-site') {
      return { status: 403, message: 'a page of another site may not use this server' }
    }
    if (origin !== undefined && !names.has(hostOf(origin))) {
      return { status: 403, message: 'a page of another site may not use this server' }
    }
    return undefined
  }

  return {
    issueToken() {
      token = randomBytes(TOKEN_BYTES).toString('base64url')
      return token
    },
    redeem(given) {
      if (token === undefined || !isEqual(given, token)) return undefined
      token = undefined
      const session = randomBytes(TOKEN_BYTES).toString('base64url')
      sessions.push(session)
      if (sessions.length > MAX_SESSIONS) sessions.shift()
      return `${cookieName}=${session}; Path=/; HttpOnly; SameSite=Strict`
    },
    hostRejection,
    rejection(headers) {
      const wrongHost = hostRejection(headers)
      if (wrongHost) return wrongHost
      const given = cookiesOf(headers.cookie).get(cookieName)
      if (given !== undefined && sessions.some((session) => isEqual(given, session))) return undefined
      return { status: 401, message: 'no session; open the link that the command printed' }
    },
  }
}

function withAnyPort(port: number): (name: string) => string[] {
  return (name) => [name, `${name}:${port}`]
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).host.toLowerCase() : ''
}

function cookiesOf(header = ''): Map<string, string> {
  return new Map(
    header.split(';').map((pair) => {
      const [name = '', value = ''] = pair.split('=', 2)
      return [name.trim(), value.trim()]
    }),
  )
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
