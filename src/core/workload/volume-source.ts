/** Finds a volume source in a pod spec, and gives the source to add. */
import type { PodVolume, VolumeSource } from '../../api/pod.ts'
import { jsonEqual } from '../json.ts'

/** The volume by whatever name that gives the same data: of a host path the type does not matter, nor of a claim whether it is read only. */
export function findVolume(volumes: readonly PodVolume[], source: VolumeSource): PodVolume | undefined {
  return volumes.find(({ name: _name, ...own }) => jsonEqual(identityOf(own), identityOf(source)))
}

/**
 * The source as a pod mounts it. Where the data is required, its directory has to be there: without the type the kubelet makes an empty
 * one, and a pod runs on nothing (IntelAI/vck#63).
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
