/** The rights of movers in a namespace: to write their own Events. */
import { serviceAccounts } from '../../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { bindingOf, roleBindings } from '../../../api/rbac.ts'

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
