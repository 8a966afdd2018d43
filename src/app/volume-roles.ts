/** What it takes where pods run, over what serving takes: to lift the gates of pods, and to move data to nodes. Never on a hub. */
import type { K8sObject } from '../api/meta.ts'
import { bindingOf, clusterRole, clusterRoles, roleBindings } from '../api/rbac.ts'
import { volumeManagers } from '../api/volume-manager.ts'
import { MOVER_ROLE } from '../core/volume-manager/mover/access.ts'
import { volumeClaimKinds } from '../store/kinds/volumes.ts'
import { LODESTONE, readRules } from './rbac.ts'

/**
 * The ClusterRole of whoever lifts gates, and its binding. It is apart from that of moving data: admission gates pods also where somebody
 * else moves the data, such as VCK's own controller, and a gate that nobody may lift keeps a pod for ever.
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
      // Their labels say who has data.
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
      // What movers wrote before they ended.
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
