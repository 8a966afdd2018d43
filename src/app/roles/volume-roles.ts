/** Additional rights in a cluster that runs pods: to remove scheduling gates, and to move data to nodes. They are never used on a hub. */
import type { K8sObject } from '../../api/meta.ts'
import { bindingOf, clusterRole, clusterRoles, roleBindings } from '../../api/rbac.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { MOVER_RIGHT, MOVER_ROLE } from '../../core/volume-manager/mover/access.ts'
import { LOCAL_STORAGE_CLASS } from '../../core/volume-manager/persistent-volume-objects.ts'
import { volumeClaimKinds } from '../../store/kinds/persistent-volumes.ts'
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

/**
 * Returns the ClusterRoles of the controller of volumes and of its movers, and the bindings of the former.
 *
 * @param namespace that of all movers: the rights on movers are bound only there
 */
export function volumeRoles(namespace?: string): K8sObject[] {
  const name = 'lodestone-volumes'
  const movers = 'lodestone-mover-pods'
  const inNamespace = namespace === undefined ? {} : { namespace }
  return [
    clusterRole(name, [
      // If dependencies are not distributed, no other role allows to read these kinds.
      ...readRules(volumeClaimKinds),
      { apiGroups: [volumeManagers.group], resources: ['volumemanagers', 'volumemanagers/status'], verbs: ['patch'] },
      // Labels on nodes show which nodes have data.
      { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch', 'patch'] },
      { apiGroups: [''], resources: ['persistentvolumes', 'persistentvolumeclaims'], verbs: ['create', 'delete'] },
      { apiGroups: [MOVER_RIGHT.group], resources: [MOVER_RIGHT.resource], verbs: [MOVER_RIGHT.verb] },
    ]),
    clusterRole(movers, [
      { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
      // The logs of ended movers.
      { apiGroups: [''], resources: ['pods/log'], verbs: ['get'] },
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
    bindingOf(movers, { name: movers, ...inNamespace }, LODESTONE),
  ]
}

/**
 * Returns the additional rights for movers in one namespace for all: to read the Secrets of VolumeManagers, and to create copies of them
 * there. They are not needed if movers run beside their VolumeManagers, where the kubelet reads the Secrets.
 */
export function credentialRoles(namespace: string): K8sObject[] {
  const [read, write] = ['lodestone-credentials', 'lodestone-credential-copies']
  return [
    clusterRole(read, [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
    clusterRole(write, [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }]),
    bindingOf(read, { name: read }, LODESTONE),
    bindingOf(write, { name: write, namespace }, LODESTONE),
  ]
}

/** Returns the StorageClass of the claims for replicas. Lodestone creates their PersistentVolumes, so that it needs no provisioner. */
export function storageClass(): K8sObject {
  const object = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: LOCAL_STORAGE_CLASS },
    provisioner: 'kubernetes.io/no-provisioner',
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
  return object
}
