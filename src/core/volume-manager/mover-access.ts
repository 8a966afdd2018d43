/** What movers may do in a namespace: write Events of their own, and nothing else. */
import type { K8sObject, ResourceType } from '../../api/meta.ts'

/** The ClusterRole that comes with Lodestone's own (app/rbac.ts). */
export const MOVER_ROLE = 'lodestone-mover'

const RBAC = 'rbac.authorization.k8s.io'

const serviceAccounts: ResourceType = {
  group: '',
  version: 'v1',
  kind: 'ServiceAccount',
  plural: 'serviceaccounts',
  namespaced: true,
}

const roleBindings: ResourceType = {
  group: RBAC,
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
}

/** The ServiceAccount of the movers in a namespace, and its binding. */
export function moverAccess(namespace: string, name: string): { type: ResourceType; object: K8sObject }[] {
  const binding: K8sObject & Record<string, unknown> = {
    apiVersion: `${RBAC}/v1`,
    kind: roleBindings.kind,
    metadata: { name, namespace },
    roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: MOVER_ROLE },
    subjects: [{ kind: serviceAccounts.kind, name, namespace }],
  }
  return [
    { type: serviceAccounts, object: { apiVersion: 'v1', kind: serviceAccounts.kind, metadata: { name, namespace } } },
    { type: roleBindings, object: binding },
  ]
}
