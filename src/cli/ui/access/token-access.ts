/** Access with a token of the API server, for a page in a cluster: each reader sees what it may list. */
import { randomBytes } from 'node:crypto'
import { isObject } from '../../../base/json.ts'
import type { Clock } from '../../../base/time/clock.ts'
import { sendAnswer, sendRejection } from '../replies.ts'
import type { Access, Identity } from './access.ts'
import { cookieNamed, hostRules, LOOPBACK_NAMES } from './hosts.ts'
import type { ReviewedUsers } from './reviewed-users.ts'
import type { Rejection } from './viewer.ts'

export interface TokenAccessInput {
  users: ReviewedUsers
  /** The names at which readers reach the page besides those of this machine. */
  hosts: readonly string[]
  clock: Clock
}

/** The prefix makes browsers accept the cookie from this host alone, and only over TLS (RFC 6265bis). */
const COOKIE = '__Host-lodestone'
const ATTRIBUTES = 'Path=/; Secure; HttpOnly; SameSite=Strict'
const SESSION_BYTES = 32
/** The oldest session ends. */
const MAX_SESSIONS = 1_000
/** The oldest session of a user ends before, so that one reader does not log out all others. A team may share a ServiceAccount. */
const MAX_OF_USER = 100
/** A working day. The token may end earlier. */
const SESSION_MS = 12 * 3_600_000
/** Tokens of identity providers have a few KiB. */
const MAX_TOKEN = 32 * 1024

const NO_SESSION: Rejection = { status: 401, message: 'log in with a token of the API server' }
const NOT_ACCEPTED: Rejection = {
  status: 401,
  message: 'the API server does not accept this token; get a new one, for instance with kubectl create token',
}

interface Session {
  token: string
  user: string | undefined
  until: number
}

/** Opens the access with tokens. Sessions are in the memory of this process. */
export function openTokenAccess({ users, hosts, clock }: TokenAccessInput): Access {
  const sessions = new Map<string, Session>()

  /** Returns the session that ends before another one of the user begins; undefined if there is room. The map has the oldest ones first. */
  function oldestBeyond(user: string | undefined): string | undefined {
    const own = [...sessions].filter(([, session]) => session.user === user)
    if (own.length >= MAX_OF_USER) return own[0]?.[0]
    return sessions.size >= MAX_SESSIONS ? [...sessions.keys()][0] : undefined
  }

  function begin(token: string, user: string | undefined): string {
    const id = randomBytes(SESSION_BYTES).toString('base64url')
    const ending = oldestBeyond(user)
    if (ending !== undefined) sessions.delete(ending)
    sessions.set(id, { token, user, until: clock.now() + SESSION_MS })
    return `${COOKIE}=${id}; ${ATTRIBUTES}; Max-Age=${SESSION_MS / 1000}`
  }

  function tokenOfSession(cookie: string | undefined): string | undefined {
    const session = sessions.get(cookieNamed(COOKIE, cookie) ?? '')
    return session && clock.now() < session.until ? session.token : undefined
  }

  async function identifyToken(token: string): Promise<Identity> {
    const viewer = token.length <= MAX_TOKEN ? await users.viewerOf(token) : undefined
    return viewer ? { viewer } : { rejection: NOT_ACCEPTED }
  }

  return {
    publicPaths: new Set(['/login', '/logout']),
    hasPublicFiles: true,
    challenge: { 'www-authenticate': 'Bearer' },
    hostRejection: hostRules([...LOOPBACK_NAMES, ...hosts]),
    async identify({ authorization, cookie }) {
      const token = bearerToken(authorization) ?? tokenOfSession(cookie)
      return token === undefined ? { rejection: NO_SESSION } : identifyToken(token)
    },
    addRoutes(server) {
      server.post('/login', async (request, reply) => {
        const token = isObject(request.body) ? request.body['token'] : undefined
        if (typeof token !== 'string' || token.trim() === '') {
          return sendRejection(reply, { status: 422, message: 'token: required, a token of the API server' })
        }
        const { viewer, rejection } = await identifyToken(token.trim())
        if (rejection) return sendRejection(reply, rejection)
        return sendAnswer(reply.header('set-cookie', begin(token.trim(), viewer.user)), 'Session', {
          user: viewer.user,
        })
      })
      server.post('/logout', (request, reply) => {
        sessions.delete(cookieNamed(COOKIE, request.headers.cookie) ?? '')
        return sendAnswer(reply.header('set-cookie', `${COOKIE}=; ${ATTRIBUTES}; Max-Age=0`), 'Session', {})
      })
    },
  }
}

function bearerToken(authorization = ''): string | undefined {
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1]
}
