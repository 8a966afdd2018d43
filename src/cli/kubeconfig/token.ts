/** Requests a token for the ServiceAccount of Lodestone (TokenRequest API). No message of this file has a part of the token. */
import { serviceAccounts } from '../../api/dependencies.ts'
import { collectionPath } from '../../api/meta.ts'
import { isObject } from '../../base/json.ts'
import { UserError } from '../../base/user-error.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError, RequestError } from '../../store/cluster/api-error.ts'
import type { ServiceAccountName } from '../options/service-account.ts'

export interface GrantedToken {
  token: string
  /** When it ends, as the API server writes it (RFC 3339). */
  endsAt: string
  /** The duration that the API server granted. It may be shorter than the requested one. */
  durationMs: number
}

/** The API server grants no token. The message has the remedy. */
class TokenRequestError extends UserError {
  override name = 'TokenRequestError'
  override readonly exitStatus = 1
}

/** Requests a token that is valid for the API server itself. Throws `UserError` with the remedy. */
export async function requestToken(
  connection: ApiConnection,
  account: ServiceAccountName,
  durationMs: number,
  signal: AbortSignal,
): Promise<GrantedToken> {
  const body = {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenRequest',
    spec: { expirationSeconds: Math.round(durationMs / 1000) },
  }
  const path = `${collectionPath(serviceAccounts, account.namespace)}/${encodeURIComponent(account.name)}/token`
  try {
    return readToken(await connection.request('POST', path, { body, signal }), durationMs)
  } catch (error) {
    throw explain(error, connection.server, account) ?? error
  }
}

function readToken(response: unknown, requestedMs: number): GrantedToken {
  const { status, spec } = isObject(response) ? response : {}
  const { token, expirationTimestamp } = isObject(status) ? status : {}
  if (typeof token !== 'string' || token === '' || typeof expirationTimestamp !== 'string') {
    throw new TokenRequestError('the response of the API server has no token; check the address in the kubeconfig')
  }
  // The API server writes the granted duration into the spec of the response.
  const { expirationSeconds } = isObject(spec) ? spec : {}
  const durationMs = typeof expirationSeconds === 'number' ? expirationSeconds * 1000 : requestedMs
  return { token, endsAt: expirationTimestamp, durationMs }
}

/** Returns the error with its remedy; undefined for an error that every request may have. */
function explain(error: unknown, server: string, { namespace, name }: ServiceAccountName): UserError | undefined {
  // The message of a parser may quote the response.
  if (error instanceof RequestError && error.cause instanceof SyntaxError) {
    return new TokenRequestError('the response of the API server is not JSON; check the address in the kubeconfig')
  }
  if (!(error instanceof ApiError)) return undefined
  if (error.status === 404) {
    return new TokenRequestError(
      `API server ${server} has no ServiceAccount ${namespace}/${name}; create it with the kubeconfig of the hub: helm install lodestone charts/lodestone -n ${namespace} --create-namespace --set mode=hub-objects`,
    )
  }
  if (error.status !== 403) return undefined
  return new TokenRequestError(
    `${error.message}; run the command as an administrator, or grant the user the verb create of serviceaccounts/token in namespace ${namespace}`,
  )
}
