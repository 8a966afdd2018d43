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

/** The ServiceAccount of the movers in a namespace, and its RoleBinding. */
export function moverAccess(namespace: string, name: string): { type: ResourceType; object: K8sObject }[] {
  const metadata = { name, namespace }
  return [
    { type: serviceAccounts, object: { apiVersion: 'v1', kind: serviceAccounts.kind, metadata } },
    { type: roleBindings, object: bindingOf(MOVER_ROLE, metadata, metadata) },
  ]
}
