/** The roles of an installation: `lodestone manifests` prints them, and `check-install` requires them. */

import type { K8sObject } from '../../api/meta.ts'
import type { PolicyRule } from '../../api/rbac.ts'
import { defined } from '../../base/json.ts'
import { moverAccess } from '../../core/volume-manager/mover/credentials.ts'
import { SHIPPED_KINDS } from '../../core/workload-kinds/kinds.ts'
import type { ResourceAccess } from '../../store/cluster/access-review.ts'
import { type Config, isDispatcher } from '../config/config.ts'
import { systemsRoles } from '../config/systems-config.ts'
import { configuredWorkloadKinds } from '../config/workload-kinds-config.ts'
import {
  clusterRoles,
  dependencyRoles,
  distributionRoles,
  interpreterRoles,
  kueueRoles,
  LODESTONE,
  loopRoles,
  multiKueueRoles,
  registrationRoles,
} from './rbac.ts'
import { userRoles } from './user-roles.ts'
import {
  credentialRoles,
  gateRoles,
  moverAccessRoles,
  moverLogRoles,
  moverRoles,
  storageClass,
  volumeLoopRoles,
  volumeRoles,
} from './volume-roles.ts'

/** Returns the roles for every API server and their bindings: what the features of the configuration need, or all of them without one. */
export function rolesFor(config: Config | undefined): K8sObject[] {
  const distributes = config?.dependencies.distribution !== 'none'
  const registers = config?.registration.mode !== 'none'
  const hasLoops = config?.loops.enabled !== false
  const answersKueue = config?.kueue.enabled !== false
  const nominates = config === undefined || isDispatcher(config)
  const kinds = config ? configuredWorkloadKinds(config) : SHIPPED_KINDS
  return [
    ...clusterRoles(kinds),
    ...(hasLoops ? loopRoles() : []),
    ...(registers ? registrationRoles() : []),
    ...(distributes ? dependencyRoles(kinds) : []),
    ...(distributes && hasLoops ? distributionRoles() : []),
    ...(distributes && registers ? interpreterRoles() : []),
    ...(answersKueue && hasLoops ? kueueRoles() : []),
    ...(nominates && hasLoops ? multiKueueRoles() : []),
    ...(config ? systemsRoles(config.systems) : []),
    ...userRoles(),
  ]
}

/** Returns the further roles for a cluster that runs pods, the StorageClass of volumes, and the account of movers in a namespace for all. */
export function podRolesFor(config: Config | undefined): K8sObject[] {
  const { enabled, whenNotReady } = config?.volumes ?? { enabled: true, whenNotReady: 'gate' }
  const hasLoops = config?.loops.enabled !== false
  return [
    ...(hasLoops && (enabled || whenNotReady === 'gate') ? gateRoles() : []),
    ...(enabled ? [...volumeRoles(), storageClass()] : []),
    ...(enabled && hasLoops ? [...volumeLoopRoles(), ...rolesForMovers(config?.volumes.movers)] : []),
  ]
}

function rolesForMovers(movers: Config['volumes']['movers'] | undefined): K8sObject[] {
  const { namespace } = movers ?? {}
  const readsLogs = movers?.logLines !== 0
  return [
    ...moverRoles(namespace),
    ...(readsLogs ? moverLogRoles(namespace) : []),
    ...(movers === undefined || namespace === undefined
      ? moverAccessRoles()
      : [
          ...moverAccess(namespace, movers.serviceAccountName).map(({ object }) => object),
          ...credentialRoles(namespace),
        ]),
  ]
}

interface Binding extends K8sObject {
  roleRef: { kind: string; name: string }
  subjects: { name: string }[]
}

/** Returns the accesses that the bindings among these objects give to Lodestone. Other roles are for users and movers. */
export function grantedAccesses(objects: readonly K8sObject[]): ResourceAccess[] {
  const bindings = objects
    .filter((object): object is Binding => 'roleRef' in object)
    .filter(({ subjects }) => subjects.some(({ name }) => name === LODESTONE.name))
  return bindings.flatMap(({ roleRef, metadata: { namespace } }) => {
    const role = objects.find(
      ({ kind, metadata }) =>
        kind === roleRef.kind &&
        metadata.name === roleRef.name &&
        (kind !== 'Role' || metadata.namespace === namespace),
    )
    const { rules = [] } = (role ?? {}) as { rules?: PolicyRule[] }
    return rules.flatMap(accessesOfRule).map((access) => defined({ ...access, namespace }))
  })
}

function accessesOfRule({ apiGroups, resources, verbs, resourceNames = [] }: PolicyRule): ResourceAccess[] {
  const names = resourceNames.length === 0 ? [{}] : resourceNames.map((name) => ({ name }))
  return apiGroups.flatMap((group) =>
    resources.flatMap((path) => {
      const [resource = '', subresource] = path.split('/')
      return verbs.flatMap((verb) => names.map((name) => defined({ verb, group, resource, subresource, ...name })))
    }),
  )
}
