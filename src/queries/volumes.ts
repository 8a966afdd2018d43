/** Finds the VolumeManagers whose volumes a pod mounts, and the volumes that a workload inherits. */
import { clusters } from '../api/karmada.ts'
import { VOLUMES_ANNOTATION } from '../api/lodestone.ts'
import type { K8sObject } from '../api/meta.ts'
import { nodes } from '../api/node.ts'
import type { PodSpec } from '../api/pod.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import { fitsNode } from '../core/volume-manager/nodes/feasibility.ts'
import type { HostRoots } from '../core/volume-manager/rules/host-paths.ts'
import type { OwnerRequest } from '../core/workload/decide-workload.ts'
import {
  type MountableVolumes,
  mountableVolumes,
  type VolumeManagerLookup,
} from '../core/workload/injection/mountable-volumes.ts'
import type { WorkloadKinds } from '../core/workload-kinds/kinds.ts'
import type { ObjectStore } from '../store/store.ts'

/** Cached results: cached objects never change, and all pods of a Job need the same one. */
const views = new WeakMap<VolumeManager, { view: MountableVolumes; roots: HostRoots | undefined }>()

/**
 * Finds the VolumeManagers of one namespace: a pod cannot mount the data of another one. Throws `NotSyncedError` before they are cached.
 *
 * @param roots the directories that `Local` volumes may use
 */
export function volumeManagersOf(
  store: ObjectStore,
  namespace: string | undefined,
  roots?: HostRoots,
): VolumeManagerLookup {
  return (name) => {
    const manager = store.get(volumeManagers, namespace, name)
    if (!manager) return undefined
    const known = views.get(manager)
    if (known && known.roots === roots) return known.view
    const view = mountableVolumes(manager, roots)
    views.set(manager, { view, roots })
    return view
  }
}

/** Returns whether a pod may run on a node; true for a node that is not cached. */
export function fitsNodeOf(store: ObjectStore, spec: PodSpec): (name: string) => boolean {
  const isCached = store.kinds().some(({ kind }) => kind === nodes.kind)
  return (name) => {
    const node = isCached ? store.get(nodes, undefined, name) : undefined
    return node === undefined || fitsNode(spec, node)
  }
}

/** Whether this cluster is a hub: it propagates workloads to member clusters, and runs no pods. */
export function isHub(store: ObjectStore): boolean {
  return store.size(clusters) > 0
}

/**
 * Returns the annotation of the owner of a workload, from the cache. Undefined if no controller owns the workload, or if the kind of the
 * owner passes the annotation on itself.
 */
export function requestOfOwner(
  { metadata }: K8sObject,
  namespace: string | undefined,
  kinds: WorkloadKinds,
  store: ObjectStore,
): OwnerRequest | undefined {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller)
  const kind = owner && kinds.find(owner.apiVersion, owner.kind)
  if (!owner || !kind?.inherits || !store.serves(kind.type)) return undefined
  const stored = store.get(kind.type, namespace, owner.name)
  const title = `${owner.kind} ${owner.name}`
  return stored ? { title, annotation: stored.metadata.annotations?.[VOLUMES_ANNOTATION] } : { title, isUnknown: true }
}
