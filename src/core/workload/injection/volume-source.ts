/** Finds a volume source in a pod spec, and builds the source to add. */
import type { PodVolume, VolumeSource } from '../../../api/pod.ts'
import { jsonEqual } from '../../json.ts'

/**
 * Returns the volume of the pod with the same data. Its name, the type of a hostPath, and readOnly of a PersistentVolumeClaim do not
 * matter.
 */
export function findVolume(volumes: readonly PodVolume[], source: VolumeSource): PodVolume | undefined {
  return volumes.find(({ name: _name, ...own }) => jsonEqual(identityOf(own), identityOf(source)))
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

function identityOf({ hostPath, persistentVolumeClaim, ...other }: VolumeSource): unknown {
  if (hostPath) return { hostPath: hostPath.path.replace(/(?<=.)\/+$/, '') }
  if (persistentVolumeClaim) return { claim: persistentVolumeClaim.claimName }
  return other
}
