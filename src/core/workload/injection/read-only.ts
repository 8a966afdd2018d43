/** Makes the mounts of read-only volumes read-only. The request of the pod and the name of the volume in the pod do not matter. */
import type { Container, PodSpec, PodVolume, VolumeSource } from '../../../api/pod.ts'
import { defined } from '../../../base/json.ts'
import { isBelow } from '../../volume-manager/rules/host-paths.ts'

type Containers = Pick<PodSpec, 'containers' | 'initContainers'>

/**
 * Returns a function that makes every mount of data of these sources read-only. It takes the containers of a pod and all of its volumes.
 * Unchanged parts are shared.
 */
export function readOnlyMounts(
  sources: readonly VolumeSource[],
): (given: Containers, volumes: readonly PodVolume[]) => Containers {
  const claims = new Set(sources.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []))
  const roots = [...new Set(sources.flatMap(({ hostPath }) => (hostPath ? clean(hostPath.path) : [])))]
  /** Whether a volume of a pod has the data of a source, or a part of it. */
  const isProtected = ({ hostPath, persistentVolumeClaim }: PodVolume) => {
    if (persistentVolumeClaim) return claims.has(persistentVolumeClaim.claimName)
    return hostPath !== undefined && roots.length > 0 && isBelow(clean(hostPath.path), roots)
  }
  return (given, volumes) => {
    if (sources.length === 0) return given
    const names = new Set(volumes.filter(isProtected).map(({ name }) => name))
    if (names.size === 0) return given
    const { containers, initContainers } = given
    const protect = (list: Container[]) => list.map((container) => protectMounts(container, names))
    return defined({ containers: protect(containers), initContainers: initContainers && protect(initContainers) })
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

/** Normalizes a path: an API server accepts doubled slashes and `.`, and rejects `..`. */
function clean(path: string): string {
  return `/${path
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/')}`
}
