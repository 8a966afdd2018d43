/** Finds a volume source in a pod spec, and returns the source to add. */
import type { PodVolume, VolumeSource } from '../../api/pod.ts'
import { jsonEqual } from '../json.ts'

/** The volume of the pod with the same data, by any name. The type of a host path does not matter, nor whether a claim is read-only. */
export function findVolume(volumes: readonly PodVolume[], source: VolumeSource): PodVolume | undefined {
  return volumes.find(({ name: _name, ...own }) => jsonEqual(identityOf(own), identityOf(source)))
}

/**
 * The source as a pod mounts it. Where the data is required, its directory must exist. Without the type, the kubelet creates an empty
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
