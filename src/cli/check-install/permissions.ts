/** Checks permissions with access reviews: of the user for the commands that read, and of the account of Lodestone. */
import pLimit from 'p-limit'
import { resourceBindings } from '../../api/karmada.ts'
import type { Config } from '../../app/config/config.ts'
import { type Access, grantedAccesses, podRolesFor, rolesFor } from '../../app/roles/granted.ts'
import { ApiError } from '../../store/cluster/api-error.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import { type Check, type CheckContext, failed, passed, skipped } from './check.ts'

const REVIEWS = '/apis/authorization.k8s.io/v1'
const CONCURRENT = 8

export const userPermissions: Check = {
  name: 'permissions',
  async run(context) {
    const groups = await servedGroups(context)
    const served = placementKinds.filter(({ type }) => type.group === '' || groups.has(type.group))
    const wanted = served.flatMap(({ type: { group, plural } }) =>
      ['list', 'watch'].map((verb) => ({ verb, group, resource: plural })),
    )
    const missing = await findMissing(context, wanted, (access) =>
      review(context, 'SelfSubjectAccessReview', { resourceAttributes: access }),
    )
    return missing.length === 0
      ? passed('the user may read everything that explain and status show')
      : failed(`the user may not ${summarize(missing)}`, 'grant these rights, or run the command as an administrator')
  },
}

export const accountPermissions: Check = {
  name: 'account',
  async run(context) {
    const { namespace, name } = context.serviceAccount
    const account = {
      user: `system:serviceaccount:${namespace}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    }
    try {
      const isHub = (await servedGroups(context)).has(resourceBindings.group)
      const wanted = neededAccesses(context.config, isHub)
      const missing = await findMissing(context, wanted, (access) =>
        review(context, 'SubjectAccessReview', { ...account, resourceAttributes: access }),
      )
      return missing.length === 0
        ? passed(`ServiceAccount ${namespace}/${name} has the rights of Lodestone`)
        : failed(
            `ServiceAccount ${namespace}/${name} may not ${summarize(missing)}`,
            `apply the roles: lodestone manifests rbac${isHub ? '' : ' volumes'} | kubectl apply -f -; or name the account: --service-account NAMESPACE/NAME`,
          )
    } catch (error) {
      if (!(error instanceof ApiError && error.status === 403)) throw error
      return skipped('the user may not create SubjectAccessReviews')
    }
  },
}

/**
 * Returns the rights that `lodestone manifests` grants for the configuration. On a hub no pods run, so its part `volumes` is not needed there.
 * Other clusters have no bindings to distribute.
 */
export function neededAccesses(config: Config, isHub: boolean): Access[] {
  const inCluster = { ...config, dependencies: { ...config.dependencies, distribution: 'none' as const } }
  return grantedAccesses(isHub ? rolesFor(config) : [...rolesFor(inCluster), ...podRolesFor(inCluster)])
}

async function servedGroups({ connection, signal }: CheckContext): Promise<Set<string>> {
  const { groups } = (await connection.request('GET', '/apis', { signal })) as { groups: { name: string }[] }
  return new Set(groups.map(({ name }) => name))
}

async function findMissing(
  { signal }: CheckContext,
  wanted: readonly Access[],
  isAllowed: (access: Access) => Promise<boolean>,
): Promise<Access[]> {
  const limit = pLimit(CONCURRENT)
  const allowed = await Promise.all(
    wanted.map((access) =>
      limit(() => {
        signal.throwIfAborted()
        return isAllowed(access)
      }),
    ),
  )
  return wanted.filter((_, index) => !allowed[index])
}

async function review({ connection, signal }: CheckContext, kind: string, spec: object): Promise<boolean> {
  const body = { apiVersion: 'authorization.k8s.io/v1', kind, spec }
  const answer = await connection.request('POST', `${REVIEWS}/${kind.toLowerCase()}s`, { body, signal })
  return (answer as { status?: { allowed?: boolean } }).status?.allowed === true
}

const MAX_SHOWN = 5

/** `list,watch pods; patch bindings.work.karmada.io; create pods in movers; and 3 more`. */
function summarize(missing: readonly Access[]): string {
  const byResource = Map.groupBy(missing, ({ group, resource, subresource, namespace }) => {
    const path = subresource ? `${resource}/${subresource}` : resource
    return `${path}${group && `.${group}`}${namespace ? ` in ${namespace}` : ''}`
  })
  const lines = [...byResource].map(
    ([path, accesses]) => `${[...new Set(accesses.map(({ verb }) => verb))].join(',')} ${path}`,
  )
  const more = lines.length > MAX_SHOWN ? [`and ${lines.length - MAX_SHOWN} more`] : []
  return [...lines.slice(0, MAX_SHOWN), ...more].join('; ')
}
