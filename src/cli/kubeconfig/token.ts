/** Requests a token for the ServiceAccount of Lodestone (TokenRequest API). No message of this file has a part of the token. */
import { serviceAccounts } from '../../api/dependencies.ts'
import { collectionPath } from '../../api/meta.ts'
import { PAGE_ACCOUNT } from '../../app/roles/page-roles.ts'
import { LODESTONE } from '../../app/roles/rbac.ts'
import { isObject } from '../../base/json.ts'
import { UserError } from '../../base/user-error.ts'
import type { ApiConnection } from '../../store/cluster/api-connection.ts'
import { ApiError, RequestError } from '../../store/cluster/api-error.ts'
import { servesPolicies } from '../../store/cluster/server-info.ts'
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
    throw (await explain(error, account, connection, signal)) ?? error
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
async function explain(
  error: unknown,
  account: ServiceAccountName,
  connection: ApiConnection,
  signal: AbortSignal,
): Promise<UserError | undefined> {
  const { namespace, name } = account
  // The message of a parser may quote the response.
  if (error instanceof RequestError && error.cause instanceof SyntaxError) {
    return new TokenRequestError('the response of the API server is not JSON; check the address in the kubeconfig')
  }
  if (!(error instanceof ApiError)) return undefined
  if (error.status === 404) {
    const remedy = creation(account, await servesPolicies(connection, signal))
    return new TokenRequestError(
      `API server ${connection.server} has no ServiceAccount ${namespace}/${name}; ${remedy}`,
    )
  }
  if (error.status !== 403) return undefined
  return new TokenRequestError(
    `${error.message}; run the command as an administrator, or grant the user the verb create of serviceaccounts/token in namespace ${namespace}`,
  )
}

/** Returns the way to create the account: on a hub a release of the chart, which has its roles too. */
function creation({ namespace, name }: ServiceAccountName, isHub: boolean): string {
  if (!isHub) return `create it: kubectl -n ${namespace} create serviceaccount ${name}`
  if (name === PAGE_ACCOUNT.name) return 'create it with page.enabled=true in the release with mode=hub-objects'
  const named = name === LODESTONE.name ? '' : ` --set serviceAccount.name=${name}`
  return `create it with the kubeconfig of the hub: helm install lodestone charts/lodestone -n ${namespace} --create-namespace --set mode=hub-objects${named}`
}
