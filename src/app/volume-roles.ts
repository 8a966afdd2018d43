/** What it takes to move data to nodes, over what serving takes: only where volumes are enabled, never on a hub. */
import type { K8sObject } from '../api/meta.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { MOVER_ROLE } from '../core/volume-manager/mover-access.ts'

const RBAC = 'rbac.authorization.k8s.io'
const NAME = 'lodestone-volumes'

/** The ClusterRoles of the controller of volumes and of its movers, and the binding of the first. */
export function volumeRoles(): K8sObject[] {
  return [
    role(NAME, [
      { apiGroups: [volumeManagers.group], resources: ['volumemanagers', 'volumemanagers/status'], verbs: ['patch'] },
      // Their labels say who has data.
      { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
      // What movers wrote before they ended.
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['persistentvolumes', 'persistentvolumeclaims'], verbs: ['create', 'delete'] },
      // Movers tell how far they are.
      { apiGroups: [''], resources: ['events'], verbs: ['get'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'create'] },
      { apiGroups: [RBAC], resources: ['rolebindings'], verbs: ['get', 'create'] },
      { apiGroups: [RBAC], resources: ['clusterroles'], resourceNames: [MOVER_ROLE], verbs: ['bind'] },
    ]),
    role(MOVER_ROLE, [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]),
    {
      apiVersion: `${RBAC}/v1`,
      kind: 'ClusterRoleBinding',
      metadata: { name: NAME },
      roleRef: { apiGroup: RBAC, kind: 'ClusterRole', name: NAME },
      subjects: [{ kind: 'ServiceAccount', namespace: 'lodestone-system', name: 'lodestone' }],
    } as K8sObject,
  ]
}

function role(name: string, rules: object[]): K8sObject {
  return { apiVersion: `${RBAC}/v1`, kind: 'ClusterRole', metadata: { name }, rules } as K8sObject
}
