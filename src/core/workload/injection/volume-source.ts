/** Finds a volume source in a pod spec by its data, and builds the source to add. */
import type { PodVolume, VolumeSource } from '../../../api/pod.ts'
import { sortedMembers } from '../../../base/json.ts'
import { withoutTrailingSlashes } from '../../../base/net/url-encoding.ts'

/** Returns the volume of the pod with the same data (`sourceKey`). */
export function findVolume(volumes: readonly PodVolume[], source: VolumeSource): PodVolume | undefined {
  const key = sourceKey(source)
  return volumes.find((volume) => sourceKey(volume) === key)
}

/**
 * Returns a text that is equal for sources of the same data. The name of the volume, the type of a hostPath, and readOnly of a
 * PersistentVolumeClaim do not matter.
 */
export function sourceKey({ name: _name, ...source }: VolumeSource & { name?: string }): string {
  const { hostPath, persistentVolumeClaim } = source
  if (hostPath) return `hostPath ${withoutTrailingSlashes(hostPath.path) || '/'}`
  if (persistentVolumeClaim) return `claim ${persistentVolumeClaim.claimName}`
  return JSON.stringify(source, sortedMembers)
}

/**
 * Returns the source that a pod mounts. If the data is required, its directory must exist. Without that type, the kubelet creates an empty
 * directory, and the pod runs without data (IntelAI/vck#63).
 */
export function mountedSource(source: VolumeSource, enforcement: 'Required' | 'Preferred'): VolumeSource {
  if (!source.hostPath || source.hostPath.type) return source
  const type = enforcement === 'Required' ? 'Directory' : 'DirectoryOrCreate'
  return { ...source, hostPath: { ...source.hostPath, type } }
}
