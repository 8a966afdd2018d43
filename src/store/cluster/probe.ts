/** Checks that an API server responds, and explains in one line why it does not. */
import { isObject } from '../../base/json.ts'
import { printable } from '../../base/printable.ts'
import { UserError } from '../../base/user-error.ts'
import type { ApiConnection } from './api-connection.ts'
import { ApiError, CredentialsError, isForbidden } from './api-error.ts'

/** The API server does not respond, or rejects the caller. The message has the remedy. */
class UnreachableError extends UserError {
  override name = 'UnreachableError'
  override readonly exitStatus = 1
}

/** With the start of the process, a command ends within five seconds. */
const TIMEOUT_MS = 4_000

/** A credential plugin may open a browser, in which the user logs in. */
const LOGIN_TIMEOUT_MS = 60_000

/** Requests the version of the API server, to see that it responds. Throws `UnreachableError`. */
export async function probeServer(connection: ApiConnection, signal: AbortSignal): Promise<void> {
  try {
    const limited = AbortSignal.any([signal, AbortSignal.timeout(LOGIN_TIMEOUT_MS)])
    const version = await connection.request('GET', '/version', { timeoutMs: TIMEOUT_MS, signal: limited })
    if (isObject(version) && typeof version['gitVersion'] === 'string') return
  } catch (error) {
    signal.throwIfAborted()
    // The server responds. Requests for objects show what the user may do.
    if (isForbidden(error)) return
    throw unreachable(connection.server, explainError(error), error)
  }
  throw unreachable(connection.server, `the response is not a Kubernetes version; ${CHECK_ADDRESS}`)
}

function unreachable(server: string, reason: string, cause?: unknown): UnreachableError {
  return new UnreachableError(`API server ${server}: ${reason}`, { cause })
}

const CHECK_ADDRESS = 'check the address of the server in the kubeconfig'
const CHECK_NETWORK = `${CHECK_ADDRESS}, firewalls and proxies`
const SET_CA = 'set the CA of the cluster in the kubeconfig (certificate-authority-data)'
const RENEW_CERTIFICATE = 'renew the certificate of the API server, and compare the clocks'
const CHECK_KUBECONFIG = 'check the kubeconfig'
const LOGIN_TIMEOUT = `the credential plugin did not end within ${LOGIN_TIMEOUT_MS / 1000} s; log in with kubectl first`

/** By code of Node.js or OpenSSL: what failed, then the remedy. */
const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: `connection refused; check that kube-apiserver runs, and ${CHECK_ADDRESS}`,
  ECONNRESET: `connection closed without a response; ${CHECK_NETWORK}`,
  UND_ERR_SOCKET: `connection closed without a response; ${CHECK_NETWORK}`,
  EHOSTUNREACH: `no route to the host; ${CHECK_NETWORK}`,
  ENETUNREACH: `no route to the host; ${CHECK_NETWORK}`,
  ETIMEDOUT: `no response within ${TIMEOUT_MS / 1000} s; ${CHECK_NETWORK}`,
  UND_ERR_CONNECT_TIMEOUT: `no response within ${TIMEOUT_MS / 1000} s; ${CHECK_NETWORK}`,
  ENOTFOUND: `host name not found; ${CHECK_ADDRESS}, and the DNS`,
  EAI_AGAIN: `host name not found, the DNS does not respond; ${CHECK_ADDRESS}, and the DNS`,
  DEPTH_ZERO_SELF_SIGNED_CERT: `its certificate is from an unknown CA; ${SET_CA}`,
  SELF_SIGNED_CERT_IN_CHAIN: `its certificate is from an unknown CA; ${SET_CA}`,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: `its certificate is from an unknown CA; ${SET_CA}`,
  UNABLE_TO_GET_ISSUER_CERT: `its certificate is from an unknown CA; ${SET_CA}`,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: `its certificate is from an unknown CA; ${SET_CA}`,
  CERT_SIGNATURE_FAILURE: `its certificate is from an unknown CA; ${SET_CA}`,
  CERT_HAS_EXPIRED: `its certificate has expired; ${RENEW_CERTIFICATE}`,
  CERT_NOT_YET_VALID: `its certificate is not valid yet; ${RENEW_CERTIFICATE}`,
  ERR_TLS_CERT_ALTNAME_INVALID:
    'its certificate has other host names; use one of them, or set tls-server-name in the kubeconfig',
  EPROTO: `the TLS handshake failed; ${CHECK_ADDRESS}, and its scheme`,
}

function explainError(error: unknown): string {
  if (error instanceof ApiError) return explainStatus(error)
  const { cause } = error as Error
  if (cause instanceof CredentialsError) return `${cause.message}; ${CHECK_KUBECONFIG}`
  if (cause instanceof SyntaxError) return `the response is not JSON; ${CHECK_ADDRESS}`
  if (cause instanceof DOMException && cause.code === DOMException.TIMEOUT_ERR) return LOGIN_TIMEOUT
  const { code = '', message } = (error as { cause?: NodeJS.ErrnoException }).cause ?? (error as NodeJS.ErrnoException)
  const known = code.startsWith('ERR_SSL') ? 'EPROTO' : code
  return (Object.hasOwn(REASONS, known) && REASONS[known]) || `${printable(message || code)}; ${CHECK_KUBECONFIG}`
}

function explainStatus({ status, message }: ApiError): string {
  if (status === 401) return 'HTTP 401: the credentials are rejected; renew the token or certificate of the user'
  if (status < 500) return `${printable(message)}; ${CHECK_ADDRESS}`
  return `${printable(message)}; check the API server, and try again`
}
