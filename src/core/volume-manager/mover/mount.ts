/** The mount of a mover: the data of a replica, or the export of an NFS volume. */
import type { VolumeConfig, VolumeManager } from '../../../api/volume-manager.ts'
import type { ReplicaStatus } from '../../../api/volume-status.ts'
import { localRootOf } from '../rules/host-paths.ts'
import { claimNameOf } from '../rules/names.ts'
import { claimOf, isReadOnly } from '../rules/published.ts'
import { moverNamespace, type VolumeSettings } from '../rules/settings.ts'
import { sourceTypeOf } from '../rules/source-types.ts'
import { nfsOf } from './persistent-volume-objects.ts'
import { MOUNT_PATH, type MoverPodInput } from './pod.ts'

/** The place of the data in the container. */
export const TARGET = `${MOUNT_PATH}/data`

/** The mount for the mover of a replica; undefined for a replica without a directory. */
export function mountOf(
  manager: VolumeManager,
  config: VolumeConfig,
  { path }: ReplicaStatus,
  { settings, localRoots }: { settings: VolumeSettings['movers']; localRoots: readonly string[] },
): MoverPodInput['mount'] {
  const { delivery } = sourceTypeOf(config.sourceType)
  if (delivery === 'present') {
    // The kubelet follows symbolic links, so the mover itself looks for the path below the root. It mounts only what exists.
    const root = localRootOf(path ?? '', { localRoots }) ?? path ?? ''
    return { at: MOUNT_PATH, volume: { hostPath: { path: root, type: 'Directory' } }, readOnly: true }
  }
  if (delivery === 'mounted') {
    const readOnly = isReadOnly(config)
    // A mover in another namespace than the claim mounts the export itself.
    const isBeside = moverNamespace(manager, settings) === manager.metadata.namespace
    const volume = isBeside
      ? { persistentVolumeClaim: claimOf(config, claimNameOf(manager, config)) }
      : { nfs: nfsOf(config) }
    return { at: TARGET, volume, ...(readOnly && { readOnly }) }
  }
  return path === undefined ? undefined : directoryMount(path)
}

/** Mounts only the directory of a volume from the node. */
export function directoryMount(path: string): NonNullable<MoverPodInput['mount']> {
  return { at: MOUNT_PATH, volume: { hostPath: { path, type: 'DirectoryOrCreate' } } }
}
