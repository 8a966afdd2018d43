/** Asks an API server who a token belongs to, and what a user may do (authentication.k8s.io/v1, authorization.k8s.io/v1). */
import type { ApiConnection } from './api-connection.ts'

/** A user as the API server authenticated it. `extra` has further keys of the authenticator. */
export interface ReviewedUser {
  username: string
  uid?: string
  groups?: string[]
  extra?: Record<string, string[]>
}

/** One action on one resource. */
export interface ResourceAccess {
  verb: string
  group: string
  resource: string
  subresource?: string
  name?: string
  /** Without it, in all namespaces. */
  namespace?: string
}

const AUTHENTICATION = 'authentication.k8s.io/v1'
const AUTHORIZATION = 'authorization.k8s.io/v1'

/** Returns the user of a token; undefined for a token that the API server does not accept. Throws as `request` does. */
export async function reviewToken(
  connection: ApiConnection,
  token: string,
  signal: AbortSignal,
): Promise<ReviewedUser | undefined> {
  const { authenticated, user } = await review<{ authenticated?: boolean; user?: Partial<ReviewedUser> }>(
    connection,
    AUTHENTICATION,
    'TokenReview',
    { token },
    signal,
  )
  if (authenticated !== true || !user?.username) return undefined
  return { ...user, username: user.username }
}

/** Returns whether a user may do this. Throws as `request` does. */
export function mayUser(
  connection: ApiConnection,
  { username, ...user }: ReviewedUser,
  access: ResourceAccess,
  signal: AbortSignal,
): Promise<boolean> {
  return isAllowed(connection, 'SubjectAccessReview', { user: username, ...user, resourceAttributes: access }, signal)
}

/** Returns whether the user of the connection may do this. Throws as `request` does. */
export function maySelf(connection: ApiConnection, access: ResourceAccess, signal: AbortSignal): Promise<boolean> {
  return isAllowed(connection, 'SelfSubjectAccessReview', { resourceAttributes: access }, signal)
}

async function isAllowed(connection: ApiConnection, kind: string, spec: object, signal: AbortSignal) {
  const { allowed } = await review<{ allowed?: boolean }>(connection, AUTHORIZATION, kind, spec, signal)
  return allowed === true
}

async function review<Status extends object>(
  connection: ApiConnection,
  apiVersion: string,
  kind: string,
  spec: object,
  signal: AbortSignal,
): Promise<Partial<Status>> {
  const input = { body: { apiVersion, kind, spec }, signal }
  const answer = await connection.request('POST', `/apis/${apiVersion}/${kind.toLowerCase()}s`, input)
  return (answer as { status?: Status }).status ?? {}
}
