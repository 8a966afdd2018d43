/** Which data of volumes a pod has mounted, whoever wrote that into it: admission, or a person by hand. */
import type { Pod, PodStatus } from '../../api/pod.ts'
import { directoryAround } from './names.ts'

export interface PodUse {
  /** Absent while the pod waits for a node. */
  node?: string
  directories: string[]
  claims: string[]
}

/** What a pod uses; undefined for one that uses nothing, or has ended. One that is being deleted still runs. */
export function useOf({ spec, status }: Pod): PodUse | undefined {
  if (isEnded(status)) return undefined
  const volumes = Array.isArray(spec?.volumes) ? spec.volumes : []
  const directories = volumes.flatMap(({ hostPath }) => (hostPath?.path && directoryAround(hostPath.path)) || [])
  const claims = volumes.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName || [])
  if (directories.length + claims.length === 0) return undefined
  return { ...(spec.nodeName && { node: spec.nodeName }), directories, claims }
}

export function isEnded(status: PodStatus | undefined): boolean {
  return status?.phase === 'Succeeded' || status?.phase === 'Failed'
}
