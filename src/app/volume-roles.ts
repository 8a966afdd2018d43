/** Additional rights in a cluster that runs pods: to remove scheduling gates, and to move data to nodes. They are never used on a hub. */
import type { K8sObject } from '../api/meta.ts'
import { bindingOf, clusterRole, clusterRoles, roleBindings } from '../api/rbac.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { MOVER_ROLE } from '../core/volume-manager/mover/access.ts'
import { volumeClaimKinds } from '../store/kinds/volumes.ts'
import { LODESTONE, readRules } from './rbac.ts'

/**
 * Returns the ClusterRole that removes scheduling gates, and its binding. It is separate from the rights for data movement: admission also
 * gates pods if another controller, such as VCK's own, moves the data. A pod whose gate is never removed does not run.
 */
export function gateRoles(): K8sObject[] {
  const name = 'lodestone-gates'
  // To remove the gate, or to delete a gated pod whose data has changed: its controller creates a new one.
  return [
    clusterRole(name, [
      { apiGroups: [''], resources: ['pods'], verbs: ['patch', 'delete'] },
      // To narrow DaemonSets to the nodes that have their volumes.
      { apiGroups: ['apps', 'apps.kruise.io'], resources: ['daemonsets'], verbs: ['patch'] },
    ]),
    bindingOf(name, { name }, LODESTONE),
  ]
}

/** Returns the ClusterRoles of the controller of volumes and of its movers, and the binding of the former. */
export function volumeRoles(): K8sObject[] {
  const name = 'lodestone-volumes'
  return [
    clusterRole(name, [
      // If dependencies are not distributed, no other role allows to read these kinds.
      ...readRules(volumeClaimKinds),
      { apiGroups: [volumeManagers.group], resources: ['volumemanagers', 'volumemanagers/status'], verbs: ['patch'] },
      // Labels on nodes show which nodes have data.
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
      // The logs of ended movers.
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
      { apiGroups: [''], resources: ['persistentvolumes', 'persistentvolumeclaims'], verbs: ['create', 'delete'] },
      // Movers report their progress in Events.
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
