/** The roles of an installation: `lodestone manifests` prints them, and `check-install` requires them. */
import type { K8sObject } from '../../api/meta.ts'
import type { PolicyRule } from '../../api/rbac.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { Config } from '../config/config.ts'
import { systemsRoles } from '../config/systems-config.ts'
import { workloadKindsOf } from '../config/workload-kinds-config.ts'
import { clusterRoles, dependencyRoles } from './rbac.ts'
import { userRoles } from './user-roles.ts'
import { credentialRoles, gateRoles, storageClass, volumeRoles } from './volume-roles.ts'

/** Returns the roles for every API server and their bindings: what the features of the configuration need, or all of them without one. */
export function rolesFor(config: Config | undefined): K8sObject[] {
  const distributes = config?.dependencies.distribution !== 'none'
  const kinds = config ? workloadKindsOf(config) : SHIPPED_KINDS
  const systems = config ? systemsRoles(config.systems) : []
  return [...clusterRoles(kinds), ...(distributes ? dependencyRoles(kinds) : []), ...systems, ...userRoles()]
}

/** Returns the further roles for a cluster that runs pods, and the StorageClass of volumes. */
export function podRolesFor(config: Config | undefined): K8sObject[] {
  const { enabled, whenNotReady } = config?.volumes ?? { enabled: true, whenNotReady: 'gate' }
  const namespace = config?.volumes.movers.namespace
  return [
    ...(enabled || whenNotReady === 'gate' ? gateRoles() : []),
    ...(enabled ? [...volumeRoles(namespace), storageClass()] : []),
    ...(enabled && namespace !== undefined ? credentialRoles(namespace) : []),
  ]
}

/** One action on one resource, as an access review names it. */
export interface Access {
  verb: string
  group: string
  resource: string
  subresource?: string
  name?: string
  /** Without it, in all namespaces. */
  namespace?: string
}

interface Binding extends K8sObject {
  roleRef: { kind: string; name: string }
}

/** Returns what the bindings among these objects allow. A role without a binding is for others, such as users and movers. */
export function accessesOf(objects: readonly K8sObject[]): Access[] {
  const bindings = objects.filter((object): object is Binding => 'roleRef' in object)
  return bindings.flatMap(({ roleRef, metadata: { namespace } }) => {
    const role = objects.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind &&
        metadata.name === roleRef.name &&
        (kind !== 'Role' || metadata.namespace === namespace),
    )
    const { rules = [] } = (role ?? {}) as { rules?: PolicyRule[] }
    return rules.flatMap(accessesOfRule).map((access) => ({ ...access, ...(namespace && { namespace }) }))
  })
}

function accessesOfRule({ apiGroups, resources, verbs, resourceNames = [] }: PolicyRule): Access[] {
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ name }))
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', subresource] = path.split('/')
      return verbs.flatMap((verb) =>
        names.map((name) => ({ verb, group, resource, ...(subresource && { subresource }), ...name })),
      )
    }),
  )
}
