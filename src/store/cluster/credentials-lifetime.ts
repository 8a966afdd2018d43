/** Tells when the credentials of a connection end: those of a token or of a client certificate. */
import { X509Certificate } from 'node:crypto'
import { isObject, parseJson } from '../../base/json.ts'

/** In ms since the epoch. */
export interface CredentialsLifetime {
  beginsAt: number
  endsAt: number
}

/** The parts of credentials that may end. */
export interface EndingCredentials {
  /** The header of requests. */
  authorization?: string | undefined
  /** The client certificate, as PEM. */
  certificate?: unknown
  /** Whether a plugin renews them. */
  isRenewed?: boolean | undefined
}

/**
 * Returns the lifetime of the credential that ends first. Returns undefined if none ends, if a plugin renews them, or if they cannot be read.
 * A token of an API server is a JSON Web Token (RFC 7519). Another server may use any form.
 */
export function credentialsLifetime({
  authorization,
  certificate,
  isRenewed,
}: EndingCredentials): CredentialsLifetime | undefined {
  if (isRenewed) return undefined
  const lifetimes = [tokenLifetime(authorization), certificateLifetime(certificate)]
  const [first] = lifetimes.flatMap((one) => one ?? []).sort((a, b) => a.endsAt - b.endsAt)
  return first
}

function tokenLifetime(authorization: string | undefined): CredentialsLifetime | undefined {
  const [, payload = ''] = /^Bearer [\w-]+\.([\w-]+)\.[\w-]*$/i.exec(authorization ?? '') ?? []
  const claims = parseJson(Buffer.from(payload, 'base64url').toString())
  if (!isObject(claims)) return undefined
  const { exp, iat = 0 } = claims
  if (!isTime(exp) || !isTime(iat)) return undefined
  return { beginsAt: iat * 1000, endsAt: exp * 1000 }
}

/** Seconds since the epoch that JavaScript can show as a date. */
function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value < 8.64e12
}

function certificateLifetime(certificate: unknown): CredentialsLifetime | undefined {
  if (typeof certificate !== 'string' && !Buffer.isBuffer(certificate)) return undefined
  const { validFromDate, validToDate } = parseCertificate(certificate) ?? {}
  if (!validFromDate || !validToDate) return undefined
  return { beginsAt: validFromDate.getTime(), endsAt: validToDate.getTime() }
}

function parseCertificate(certificate: string | Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(certificate)
  } catch {
    // The handshake reports an invalid certificate.
    return undefined
  }
}
