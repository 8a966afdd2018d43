/** The rights of movers in a namespace: to write their own Events. */
import { serviceAccounts } from '../../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { bindingOf, roleBindings } from '../../../api/rbac.ts'

/**
 * The right to write what is reserved for movers (reserved.ts). The API server has no such resource: a webhook asks for the right. It asks
 * without a namespace, so that a wildcard in a Role is not enough.
 */
export const MOVER_RIGHT = { group: 'lodestone.dev', resource: 'movers', verb: 'create' }

/** The ClusterRole of movers (app/roles/volume-roles.ts). */
export const MOVER_ROLE = 'lodestone-mover'

interface AccessObject {
  type: ResourceType
  object: K8sObject
}

/** The ServiceAccount of the movers in a namespace, and its RoleBinding. */
export function moverAccess(namespace: string, name: string): AccessObject[] {
  const metadata = { name, namespace }
  return [
    { type: serviceAccounts, object: { apiVersion: 'v1', kind: serviceAccounts.kind, metadata } },
    { type: roleBindings, object: bindingOf(MOVER_ROLE, metadata, metadata) },
  ]
}

/** The RoleBinding for movers with a ServiceAccount of users, which Lodestone does not create. */
export function userAccountAccess(namespace: string, name: string): AccessObject[] {
  const metadata = { name: `${MOVER_ROLE}.${name}`, namespace }
  return [{ type: roleBindings, object: bindingOf(MOVER_ROLE, metadata, { name, namespace }) }]
}
