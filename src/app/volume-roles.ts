/** Additional rights in a cluster that runs pods: to remove scheduling gates, and to move data to nodes. Never on a hub. */
import type { K8sObject } from '../api/meta.ts'
import { bindingOf, clusterRole, clusterRoles, roleBindings } from '../api/rbac.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { MOVER_ROLE } from '../core/volume-manager/mover/access.ts'
import { volumeClaimKinds } from '../store/kinds/volumes.ts'
import { LODESTONE, readRules } from './rbac.ts'

/**
 * The ClusterRole for removing scheduling gates, and its binding. It is apart from the rights for moving data: admission also gates pods
 * where another controller, such as VCK's own, moves the data. A gate that is never removed keeps a pod from running.
 */
export function gateRoles(): K8sObject[] {
  const name = 'lodestone-gates'
  // Away with the gate, or with a pod that waits for data which has become other data: its controller makes another.
  return [
    clusterRole(name, [{ apiGroups: [''], resources: ['pods'], verbs: ['patch', 'delete'] }]),
    bindingOf(name, { name }, LODESTONE),
  ]
}

/** The ClusterRoles of the controller of volumes and of its movers, and the binding of the first. */
export function volumeRoles(): K8sObject[] {
  const name = 'lodestone-volumes'
  return [
    clusterRole(name, [
      // Where dependencies are not distributed, nothing else gives the right to read these.
      ...readRules(volumeClaimKinds),
      { apiGroups: [volumeManagers.group], resources: ['volumemanagers', 'volumemanagers/status'], verbs: ['patch'] },
      // Their labels name the nodes that have data.
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
      // The logs of movers that have ended.
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['persistentvolumes', 'persistentvolumeclaims'], verbs: ['create', 'delete'] },
      // Movers tell how far they are.
      { apiGroups: [''], resources: ['events'], verbs: ['get'] },
      { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get', 'create'] },
      { apiGroups: [roleBindings.group], resources: [roleBindings.plural], verbs: ['get', 'create'] },
      {
        apiGroups: [clusterRoles.group],
        resources: [clusterRoles.plural],
        resourceNames: [MOVER_ROLE],
        verbs: ['bind'],
      },
    ]),
    clusterRole(MOVER_ROLE, [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]),
    bindingOf(name, { name }, LODESTONE),
  ]
}
