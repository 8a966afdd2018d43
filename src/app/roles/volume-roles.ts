/** Additional rights in a cluster that runs pods: to remove scheduling gates, and to move data to nodes. They are never used on a hub. */
import { apiVersionOf, type K8sObject, type ResourceType } from '../../api/meta.ts'
import { clusterRole, clusterRoles as clusterRolesType, roleBindings } from '../../api/rbac.ts'
import { volumeManagers } from '../../api/volume-manager.ts'
import { MOVER_RIGHT, MOVER_ROLE } from '../../core/volume-manager/mover/credentials.ts'
import { LOCAL_STORAGE_CLASS } from '../../core/volume-manager/mover/persistent-volume-objects.ts'
import { volumeClaimKinds } from '../../store/kinds/persistent-volumes.ts'
import { grant, readRules } from './rbac.ts'

/**
 * Returns the right to remove scheduling gates. It is separate from the rights for data movement: admission also gates pods if another
 * controller, such as VCK's own, moves the data. A pod whose gate is never removed does not run.
 */
export function gateRoles(): K8sObject[] {
  return grant('lodestone-gates', [
    // To remove the gate, or to delete a gated pod whose data has changed: its controller creates a new one.
    { apiGroups: [''], resources: ['pods'], verbs: ['patch', 'delete'] },
    // To narrow DaemonSets to the nodes that have their volumes.
    { apiGroups: ['apps', 'apps.kruise.io'], resources: ['daemonsets'], verbs: ['patch'] },
  ])
}

/** Returns the right to read the kinds of volumes. */
export function volumeRoles(): K8sObject[] {
  return grant('lodestone-volumes', [
    // If dependencies are not distributed, no other role allows to read these kinds.
    ...readRules(volumeClaimKinds),
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'watch'] },
  ])
}

/** Returns the rights of the loops that move data, without those on movers. */
export function volumeLoopRoles(): K8sObject[] {
  return grant('lodestone-volume-loops', [
    { apiGroups: [volumeManagers.group], resources: ['volumemanagers', 'volumemanagers/status'], verbs: ['patch'] },
    // Labels show which nodes have data, annotations their free disk and leftovers.
    { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] },
    { apiGroups: [''], resources: ['persistentvolumes', 'persistentvolumeclaims'], verbs: ['create', 'delete'] },
    { apiGroups: [MOVER_RIGHT.group], resources: [MOVER_RIGHT.resource], verbs: [MOVER_RIGHT.verb] },
  ])
}

/**
 * Returns the rights on movers, and the ClusterRole that movers have.
 *
 * @param namespace that of all movers: the rights are bound only there
 */
export function moverRoles(namespace?: string): K8sObject[] {
  const rules = [
    { apiGroups: [''], resources: ['pods'], verbs: ['get', 'create', 'delete'] },
    // Movers report their progress in Events.
    { apiGroups: [''], resources: ['events'], verbs: ['get'] },
    { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['get'] },
    { apiGroups: [roleBindings.group], resources: [roleBindings.plural], verbs: ['get'] },
  ]
  return [
    ...grant('lodestone-mover-pods', rules, namespace),
    clusterRole(MOVER_ROLE, [{ apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] }]),
  ]
}

/**
 * Returns the right to create the ServiceAccounts of movers in all namespaces. With one namespace for all movers, the installation creates
 * theirs (`moverAccess`).
 */
export function moverAccessRoles(): K8sObject[] {
  return grant('lodestone-mover-access', [
    { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['create'] },
    { apiGroups: [roleBindings.group], resources: [roleBindings.plural], verbs: ['create'] },
    {
      apiGroups: [clusterRolesType.group],
      resources: [clusterRolesType.plural],
      resourceNames: [MOVER_ROLE],
      verbs: ['bind'],
    },
  ])
}

/** Returns the right to read the logs of ended movers: unless `volumes.movers.logLines` is 0. */
export function moverLogRoles(namespace?: string): K8sObject[] {
  return grant('lodestone-mover-logs', [{ apiGroups: [''], resources: ['pods/log'], verbs: ['get'] }], namespace)
}

/**
 * Returns the additional rights for movers in one namespace for all: to read the Secrets of VolumeManagers, and to create copies of them
 * there. They are not needed if movers run beside their VolumeManagers, where the kubelet reads the Secrets.
 */
export function credentialRoles(namespace: string): K8sObject[] {
  return [
    ...grant('lodestone-credentials', [{ apiGroups: [''], resources: ['secrets'], verbs: ['get'] }]),
    ...grant(
      'lodestone-credential-copies',
      [{ apiGroups: [''], resources: ['secrets'], verbs: ['create'] }],
      namespace,
    ),
  ]
}

export const storageClasses: ResourceType = {
  group: 'storage.k8s.io',
  version: 'v1',
  kind: 'StorageClass',
  plural: 'storageclasses',
  namespaced: false,
}

/** Returns the StorageClass of the claims for replicas. Lodestone creates their PersistentVolumes, so that it needs no provisioner. */
export function storageClass(): K8sObject {
  const object = {
    apiVersion: apiVersionOf(storageClasses),
    kind: storageClasses.kind,
    metadata: { name: LOCAL_STORAGE_CLASS },
    provisioner: 'kubernetes.io/no-provisioner',
    reclaimPolicy: 'Retain',
    volumeBindingMode: 'WaitForFirstConsumer',
  }
  return object
}
