/** What movers may do in a namespace: write Events of their own, and nothing else. */
import { serviceAccounts } from '../../../api/dependencies.ts'
import type { K8sObject, ResourceType } from '../../../api/meta.ts'
import { bindingOf, roleBindings } from '../../../api/rbac.ts'

/** The ClusterRole that comes with Lodestone's own (app/volume-roles.ts). */
export const MOVER_ROLE = 'lodestone-mover'

/** The ServiceAccount of the movers in a namespace, and its binding. */
export function moverAccess(namespace: string, name: string): { type: ResourceType; object: K8sObject }[] {
  const metadata = { name, namespace }
  return [
    { type: serviceAccounts, object: { apiVersion: 'v1', kind: serviceAccounts.kind, metadata } },
    { type: roleBindings, object: bindingOf(MOVER_ROLE, metadata, metadata) },
  ]
}
