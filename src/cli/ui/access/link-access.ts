/** Access by a link: only a browser that opened the link which the command printed has a session. For this machine alone. */
import { randomBytes, timingSafeEqual } from 'node:crypto'
import { sendRejection } from '../replies.ts'
import type { Access } from './access.ts'
import { cookieNamed, hostRules, LOOPBACK_NAMES } from './hosts.ts'
import type { Viewer } from './viewer.ts'

export interface LinkAccessInput {
  /** Further values of the header `Host`, for a proxy before the server. */
  hosts: readonly string[]
  /** Called when a link was opened that was used before, with a function that makes a new one. */
  onUsedLink: (makeLink: () => string) => void
  /** The reader who started the command. */
  owner: Viewer
}

export interface LinkAccess extends Access {
  /** Begins to admit readers of a server that listens on this port of 127.0.0.1, and returns the link. */
  begin(port: number): string
}

const TOKEN_BYTES = 32
/** Browsers of one user, and their private windows. The oldest session ends. */
const MAX_SESSIONS = 20

/** Opens the access by links, which admits no reader before `begin`. */
export function openLinkAccess({ hosts, onUsedLink, owner }: LinkAccessInput): LinkAccess {
  let port: number | undefined
  let token: string | undefined
  let hostRejection: Access['hostRejection'] = () => ({ status: 503, message: 'the server is starting' })
  const sessions: string[] = []
  // A browser sends the cookies of a host to all of its ports.
  const cookieName = () => `lodestone-${port}`

  /** Returns a link with a new token. Earlier links that were not opened end. */
  function makeLink(): string {
    token = randomBytes(TOKEN_BYTES).toString('base64url')
    return `http://127.0.0.1:${port}/open?token=${token}`
  }

  /** Ends the token and returns the cookie of a session; undefined for a token that is unknown or was used. */
  function redeem(given: string): string | undefined {
    if (token === undefined || !isEqual(given, token)) return undefined
    token = undefined
    const session = randomBytes(TOKEN_BYTES).toString('base64url')
    sessions.push(session)
    if (sessions.length > MAX_SESSIONS) sessions.shift()
    return `${cookieName()}=${session}; Path=/; HttpOnly; SameSite=Strict`
  }

  return {
    publicPaths: new Set(['/open']),
    hasPublicFiles: false,
    challenge: {},
    begin(listening) {
      port = listening
      hostRejection = hostRules([...LOOPBACK_NAMES.map((name) => `${name}:${port}`), ...hosts])
      return makeLink()
    },
    hostRejection: (headers) => hostRejection(headers),
    async identify({ cookie }) {
      const given = cookieNamed(cookieName(), cookie)
      if (given !== undefined && sessions.some((session) => isEqual(given, session))) return { viewer: owner }
      return { rejection: { status: 401, message: 'no session; open the link that the command printed' } }
    },
    addRoutes(server) {
      server.get('/open', (request, reply) => {
        // A program may look at a link before it gives it to the browser.
        if (request.method === 'HEAD') return reply.redirect('/', 303)
        const given = new URL(request.url, 'http://127.0.0.1').searchParams.get('token') ?? ''
        const cookie = redeem(given)
        if (cookie !== undefined) return reply.header('set-cookie', cookie).redirect('/', 303)
        onUsedLink(makeLink)
        return sendRejection(reply, {
          status: 403,
          message: 'this link was used, or has ended; the terminal has a new one',
        })
      })
    },
  }
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)]
  return a.length === b.length && timingSafeEqual(a, b)
}
