/** Makes the mounts of read-only volumes read-only. The request of the pod and the name of the volume in the pod do not matter. */
import type { Container, PodSpec, PodVolume, VolumeSource } from '../../../api/pod.ts'
import { isBelow } from '../../volume-manager/spec/host-paths.ts'

type Containers = Pick<PodSpec, 'containers' | 'initContainers'>

/** Makes every mount of data of these sources read-only. Unchanged parts are shared. */
export function withReadOnlyMounts(
  given: Containers,
  volumes: readonly PodVolume[],
  sources: readonly VolumeSource[],
): Containers {
  const names = new Set(volumes.filter((one) => sources.some((source) => isOf(one, source))).map(({ name }) => name))
  if (names.size === 0) return given
  const { containers, initContainers } = given
  const protect = (list: Container[]) => list.map((container) => protectMounts(container, names))
  return {
    containers: protect(containers),
    ...(initContainers && { initContainers: protect(initContainers) }),
  }
}

function protectMounts(container: Container, names: ReadonlySet<string>): Container {
  const { volumeMounts = [] } = container
  const isOpen = (mount: { name: string; readOnly?: boolean }) => names.has(mount.name) && mount.readOnly !== true
  if (!volumeMounts.some(isOpen)) return container
  return {
    ...container,
    volumeMounts: volumeMounts.map((mount) => (isOpen(mount) ? { ...mount, readOnly: true } : mount)),
  }
}

/** Whether a volume of a pod has the data of a source, or a part of it. */
function isOf({ hostPath, persistentVolumeClaim }: VolumeSource, source: VolumeSource): boolean {
  if (persistentVolumeClaim) return persistentVolumeClaim.claimName === source.persistentVolumeClaim?.claimName
  if (!hostPath || !source.hostPath) return false
  return isBelow(clean(hostPath.path), [clean(source.hostPath.path)])
}

/** Normalizes a path: an API server accepts doubled slashes and `.`, and rejects `..`. */
function clean(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`
}
