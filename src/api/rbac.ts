/** Roles and role bindings that Lodestone creates. */
import type { K8sObject, ResourceType } from './meta.ts'

const GROUP = 'rbac.authorization.k8s.io'
const API_VERSION = `${GROUP}/v1`

export interface RoleBinding extends K8sObject {
  roleRef?: { kind: string; name: string }
}

export const roleBindings: ResourceType<RoleBinding> = {
  group: GROUP,
  version: 'v1',
  kind: 'RoleBinding',
  plural: 'rolebindings',
  namespaced: true,
}

export const clusterRoles: ResourceType = {
  group: GROUP,
  version: 'v1',
  kind: 'ClusterRole',
  plural: 'clusterroles',
  namespaced: false,
}

export const clusterRoleBindings: ResourceType<RoleBinding> = {
  ...clusterRoles,
  kind: 'ClusterRoleBinding',
  plural: 'clusterrolebindings',
}

export const roles: ResourceType = { ...clusterRoles, kind: 'Role', plural: 'roles', namespaced: true }

export interface PolicyRule {
  apiGroups: string[]
  resources: string[]
  verbs: string[]
  resourceNames?: string[]
}

/** A ClusterRole with these rules. */
export function clusterRole(name: string, rules: PolicyRule[]): K8sObject & { rules: PolicyRule[] } {
  return { apiVersion: API_VERSION, kind: clusterRoles.kind, metadata: { name }, rules }
}

/** A Role in the namespace of `metadata`. */
export function role(
  metadata: { name: string; namespace: string },
  rules: PolicyRule[],
): K8sObject & { rules: PolicyRule[] } {
  return { apiVersion: API_VERSION, kind: roles.kind, metadata, rules }
}

/** Binds the Role of the same name and namespace to a ServiceAccount. */
export function bindRole(
  metadata: { name: string; namespace: string },
  account: { name: string; namespace: string },
): K8sObject & Record<string, unknown> {
  return {
    ...bindClusterRole(metadata.name, metadata, account),
    roleRef: { apiGroup: GROUP, kind: 'Role', name: metadata.name },
  }
}

/** Binds a ClusterRole to a ServiceAccount: in the namespace of `metadata`, or in the whole cluster if it has none. */
export function bindClusterRole(
  role: string,
  metadata: { name: string; namespace?: string },
  account: { name: string; namespace: string },
): K8sObject & Record<string, unknown> {
  return {
    apiVersion: API_VERSION,
    kind: metadata.namespace === undefined ? clusterRoleBindings.kind : roleBindings.kind,
    metadata,
    roleRef: { apiGroup: GROUP, kind: clusterRoles.kind, name: role },
    subjects: [{ kind: 'ServiceAccount', namespace: account.namespace, name: account.name }],
  }
}
