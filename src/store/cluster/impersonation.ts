/** Sends requests as another user, as the `as` fields of a kubeconfig ask for. client-node reads the name of that user alone. */

/** The fields of a user of a kubeconfig (k8s.io/client-go/tools/clientcmd/api/v1, AuthInfo). */
export interface ImpersonatedUser {
  as?: string
  'as-uid'?: string
  'as-groups'?: readonly string[]
  'as-user-extra'?: Readonly<Record<string, readonly string[]>>
}

/**
 * Whether a user is to have the uid, the groups or the extra fields of another user who is not named. As client-go, Lodestone rejects this
 * (tools/clientcmd/validation.go): the requests would have all rights of the user.
 */
export function lacksImpersonatedUser(user: ImpersonatedUser): boolean {
  const { as: name, 'as-uid': uid, 'as-groups': groups, 'as-user-extra': extra } = user
  return !name && Boolean(uid || groups?.length || Object.keys(extra ?? {}).length)
}

/** Returns the headers of the requests, as client-go sends them (transport/round_trippers.go); none without `as`. */
export function impersonationHeaders(user: ImpersonatedUser): Record<string, string[]> {
  const { as: name, 'as-uid': uid, 'as-groups': groups = [], 'as-user-extra': extra = {} } = user
  if (!name) return {}
  return {
    'impersonate-user': [name],
    ...(uid && { 'impersonate-uid': [uid] }),
    ...(groups.length > 0 && { 'impersonate-group': [...groups] }),
    ...Object.fromEntries(
      Object.entries(extra).map(([key, values]) => [`impersonate-extra-${escapeKey(key)}`, [values].flat()]),
    ),
  }
}

/** The characters of the names of headers, without the one that escapes others. */
const LEGAL = /[\w!#$&'*+.^`|~-]/

function escapeKey(key: string): string {
  return [...Buffer.from(key)].map(escapeByte).join('')
}

function escapeByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return LEGAL.test(character) ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
}
