/** Converts errors of connections: whether a retry may succeed, and the message for the user. */
import type { FailureCode } from '../../core/mover-contract/contract.ts'
import { MoverError } from '../mover-error.ts'
import { RetryableError } from './backoff.ts'
import type { HttpRequest } from './messages.ts'

/** An error of the connection, as opposed to an error of a sink. */
export class ConnectionError extends Error {
  override name = 'ConnectionError'
  override readonly cause: NodeJS.ErrnoException

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.cause = cause
  }

  /** Whether the server closed the connection, for example an idle one just before a request arrived. */
  get isClosed(): boolean {
    return CLOSED.has(this.cause.code ?? '')
  }
}

/** The code of an error for a server that sends no data. */
export const STALLED = 'ERR_STALLED'

const CLOSED = new Set(['ECONNRESET', 'EPIPE'])
/** Errors of TLS. A retry would get the same certificate. */
const TLS_FAILURE = /CERT|UNABLE_TO_VERIFY|UNABLE_TO_GET_ISSUER|ERR_SSL|ERR_TLS/

const BY_CA = '--ca-file names the certificates to trust, which are the key ca.crt of the Secret of the volume'

/** The remedies of errors of TLS that trust in another CA does not repair, by their codes. `Rejected` is the same on every node. */
const REMEDIES: readonly { codes: RegExp; remedy: string; code?: FailureCode }[] = [
  { codes: /ALTNAME/, remedy: 'name the server as its certificate does, in the endpoint' },
  { codes: /EXPIRED/, remedy: 'renew the certificate of the server, or correct the clock of the node' },
  // Servers use no certificate before its time, so the clock of the node is behind.
  { codes: /NOT_YET_VALID/, remedy: 'the clock of the node is behind; synchronize it', code: 'ClockSkew' },
  {
    codes: /WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/,
    remedy: 'the server has no TLS on this port; write its endpoint with http://',
  },
]

/** Returns the error to throw: a `RetryableError` when a retry may succeed, otherwise a `MoverError`. */
export function explain(
  { cause }: ConnectionError,
  { method, origin, path }: HttpRequest,
  stallMs: number,
): MoverError | RetryableError {
  if (cause instanceof MoverError) return cause
  const { code = '', message } = cause
  const reason = code === STALLED ? `no data for ${stallMs / 1000} s` : message || code
  // The query may contain a credential.
  const text = `${method} ${origin}${path.replace(/\?.*/, '')}: ${reason}`
  if (!TLS_FAILURE.test(code)) return new RetryableError(text, { cause })
  const known = REMEDIES.find(({ codes }) => codes.test(code))
  return new MoverError(known?.code ?? 'Rejected', `${text}; ${known?.remedy ?? BY_CA}`, { cause })
}
