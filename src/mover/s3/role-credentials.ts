/** Gets temporary keys of a role from STS or from the agent of the node, and renews them before they expire. */
import { readFile } from 'node:fs/promises'
import { describeFileError } from '../../base/file-error.ts'
import { elementText } from '../../base/xml.ts'
import {
  assumeRoleBody,
  parseAgentKeys,
  parseAssumedRole,
  type RoleSource,
  renewalTime,
  type TemporaryKeys,
} from '../../s3/role.ts'
import { type RetryOptions, withRetries } from '../http/backoff.ts'
import type { HttpClient } from '../http/client.ts'
import type { HttpRequest, HttpResponse } from '../http/messages.ts'
import { type ErrorTable, serverError } from '../http/server-error.ts'
import { MoverError } from '../mover-error.ts'
import type { CredentialSource } from './credentials.ts'

export interface RoleOptions {
  /** For STS. */
  http: HttpClient
  /** For the agent of the node, which no proxy reaches. */
  agentHttp: HttpClient
  retry: RetryOptions
  /** Milliseconds since the epoch. */
  now: () => number
  signal: AbortSignal
}

/** The pause after a renewal that failed, while the last keys are still valid. */
const PAUSE_MS = 10_000

/**
 * Returns the keys of a role. Valid keys are returned at once, also while new ones are on their way. Throws a `MoverError` if there are no
 * valid keys.
 */
export function roleCredentials(source: RoleSource, { now, ...options }: RoleOptions): CredentialSource {
  let last: (TemporaryKeys & { renewAt: number }) | undefined
  let renewing: Promise<TemporaryKeys> | undefined

  async function obtain(): Promise<TemporaryKeys> {
    const at = now()
    const obtained = await obtainKeys(source, options)
    last = { ...obtained, renewAt: renewalTime(obtained, at) }
    return obtained
  }

  function renew(): Promise<TemporaryKeys> {
    renewing ??= obtain().finally(() => {
      renewing = undefined
    })
    return renewing
  }

  return async () => {
    const at = now()
    if (last === undefined || at >= last.expiresAt) return (await renew()).keys
    if (at >= last.renewAt) {
      last.renewAt = at + PAUSE_MS
      // A failure counts only when the last keys have expired: then the next renewal is awaited.
      renew().catch(() => undefined)
    }
    return last.keys
  }
}

function obtainKeys(source: RoleSource, options: Omit<RoleOptions, 'now'>): Promise<TemporaryKeys> {
  return source.kind === 'webIdentity' ? assumeRole(source, options) : askAgent(source, options)
}

/** https://docs.aws.amazon.com/STS/latest/APIReference/API_AssumeRoleWithWebIdentity.html */
async function assumeRole(
  source: Extract<RoleSource, { kind: 'webIdentity' }>,
  { http, retry, signal }: Omit<RoleOptions, 'now'>,
): Promise<TemporaryKeys> {
  const { endpoint, roleArn, tokenFile } = source
  const what = `role ${roleArn} at ${endpoint}`
  return withRetries(retry, signal, async () => {
    // The kubelet replaces the token before it expires.
    const request = requestTo(endpoint, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/xml' },
      body: assumeRoleBody(source, await readToken(tokenFile)),
    })
    return keysIn(await http.send(request, signal), what, parseAssumedRole)
  })
}

/** https://docs.aws.amazon.com/sdkref/latest/guide/feature-container-credentials.html */
async function askAgent(
  { url, tokenFile }: Extract<RoleSource, { kind: 'agent' }>,
  { agentHttp, retry, signal }: Omit<RoleOptions, 'now'>,
): Promise<TemporaryKeys> {
  return withRetries(retry, signal, async () => {
    const headers = tokenFile === undefined ? {} : { authorization: await readToken(tokenFile) }
    const answer = await agentHttp.send(requestTo(url, { method: 'GET', headers }), signal)
    return keysIn(answer, `credentials of the Pod at ${new URL(url).origin}`, parseAgentKeys)
  })
}

function requestTo(url: string, rest: Pick<HttpRequest, 'method' | 'headers' | 'body'>): HttpRequest {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: pathname + search, ...rest }
}

async function readToken(file: string): Promise<string> {
  try {
    return (await readFile(file, 'utf8')).trim()
  } catch (error) {
    const fault = `the token of the ServiceAccount cannot be read: ${file}: ${describeFileError(error)}`
    throw new MoverError('AccessDenied', fault, { cause: error })
  }
}

const ACCESS = 'the role is refused; check its trust policy, and the annotation of the ServiceAccount'

const TABLE: ErrorTable = {
  byCode: {
    ExpiredTokenException: { code: 'AccessDenied', message: 'the token of the ServiceAccount has expired' },
    InvalidIdentityToken: {
      code: 'AccessDenied',
      message: 'the identity provider of the cluster is not known; add it',
    },
  },
  byStatus: {
    400: { code: 'AccessDenied', message: ACCESS },
    401: { code: 'AccessDenied', message: ACCESS },
    403: { code: 'AccessDenied', message: ACCESS },
  },
  retryable: new Set(['IDPCommunicationError', 'Throttling', 'InternalFailure', 'ServiceUnavailable']),
  redirected: 'check the endpoint of STS',
}

/** The keys of an answer. No message has a part of it, since it may contain keys; an error has its code and message. */
function keysIn(answer: HttpResponse, what: string, parse: (text: string) => TemporaryKeys | undefined): TemporaryKeys {
  const { status, text } = answer
  if (status >= 300)
    throw serverError(TABLE, what, answer, { code: elementText(text, 'Code'), message: elementText(text, 'Message') })
  const keys = parse(text)
  if (keys === undefined)
    throw new MoverError('Rejected', `${what}: the answer has no temporary keys with an expiration`)
  return keys
}
