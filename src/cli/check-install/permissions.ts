/** Checks permissions with access reviews: of the user for the commands that read, and of the account of Lodestone. */
import pLimit from 'p-limit'
import { resourceBindings } from '../../api/karmada.ts'
import type { Config } from '../../app/config/config.ts'
import { grantedAccesses, podRolesFor, rolesFor } from '../../app/roles/granted.ts'
import { maySelf, mayUser, type ResourceAccess } from '../../store/cluster/access-review.ts'
import { isForbidden } from '../../store/cluster/api-error.ts'
import { placementKinds } from '../../store/kinds/cached-kinds.ts'
import { type Check, type CheckContext, configWords, failed, passed, skipped } from './check.ts'

const CONCURRENT = 8

export const userPermissions: Check = {
  name: 'permissions',
  async run(context) {
    const groups = await servedGroups(context)
    const served = placementKinds.filter(({ type }) => type.group === '' || groups.has(type.group))
    const wanted = served.flatMap(({ type: { group, plural } }) =>
      ['list', 'watch'].map((verb) => ({ verb, group, resource: plural })),
    )
    const missing = await findMissing(context, wanted, (access) => maySelf(context.connection, access, context.signal))
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
      username: `system:serviceaccount:${namespace}:${name}`,
      groups: ['system:serviceaccounts', `system:serviceaccounts:${namespace}`, 'system:authenticated'],
    }
    try {
      const isHub = (await servedGroups(context)).has(resourceBindings.group)
      const wanted = neededAccesses(context.config, isHub)
      const missing = await findMissing(context, wanted, (access) =>
        mayUser(context.connection, account, access, context.signal),
      )
      return missing.length === 0
        ? passed(`ServiceAccount ${namespace}/${name} has the rights of Lodestone`)
        : failed(
            `ServiceAccount ${namespace}/${name} may not ${summarize(missing)}`,
            `apply the roles: lodestone manifests rbac${isHub ? '' : ' volumes'}${configWords(context)} | kubectl apply -f -; or name the account: --service-account NAMESPACE/NAME`,
          )
    } catch (error) {
      if (!isForbidden(error)) throw error
      return skipped('the user may not create SubjectAccessReviews')
    }
  },
}

/**
 * Returns the rights that `lodestone manifests` grants for the configuration. On a hub no pods run, so its part `volumes` is not needed there.
 * Other clusters have no bindings to distribute.
 */
export function neededAccesses(config: Config, isHub: boolean): ResourceAccess[] {
  const inCluster = { ...config, dependencies: { ...config.dependencies, distribution: 'none' as const } }
  return grantedAccesses(isHub ? rolesFor(config) : [...rolesFor(inCluster), ...podRolesFor(inCluster)])
}

async function servedGroups({ connection, signal }: CheckContext): Promise<Set<string>> {
  const { groups } = (await connection.request('GET', '/apis', { signal })) as { groups: { name: string }[] }
  return new Set(groups.map(({ name }) => name))
}

async function findMissing(
  { signal }: CheckContext,
  wanted: readonly ResourceAccess[],
  isAllowed: (access: ResourceAccess) => Promise<boolean>,
): Promise<ResourceAccess[]> {
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

const MAX_SHOWN = 5

/** `list,watch pods; patch bindings.work.karmada.io; create pods in movers; and 3 more`. */
function summarize(missing: readonly ResourceAccess[]): string {
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
