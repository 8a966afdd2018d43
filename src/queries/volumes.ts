/** Looks up VolumeManagers for whoever mounts their volumes: admission and loops ask the same way. */
import { clusters } from '../api/karmada.ts'
import { type VolumeManager, volumeManagers } from '../api/volume-manager.ts'
import type { HostRoots } from '../core/volume-manager/spec/host-paths.ts'
import { type VolumeManagerLookup, type VolumeManagerView, viewVolumeManager } from '../core/workload/volume-view.ts'
import type { ObjectStore } from '../store/store.ts'

/** Objects in memory never change, and a hundred pods of a job ask for the same. */
const views = new WeakMap<VolumeManager, { view: VolumeManagerView; roots: HostRoots | undefined }>()

/**
 * Finds the VolumeManagers of one namespace: no pod mounts the data of another. Throws `NotSyncedError` before they are read.
 *
 * @param roots where `Local` volumes may be
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
    const view = viewVolumeManager(manager, roots)
    views.set(manager, { view, roots })
    return view
  }
}

/** Whether workloads are sent on to member clusters from here, and no pods run. */
export function isHub(store: ObjectStore): boolean {
  return store.size(clusters) > 0
}
