/** Limits the volumes of one object: a decision neither adds more mounts nor writes more bytes than an object can have. */
import type { PodSpec } from '../../../api/pod.ts'
import type { FieldError } from '../../../base/field-errors.ts'
import { fitsIntoBytes, MAX_OBJECT_BYTES } from '../../admission/object-size.ts'
import type { PlacedRequest } from './volume-requests.ts'

/** The maximum number of mounts that all requests of one object add. */
const MAX_MOUNTS = 20_000
/** The maximum number of pod templates in one workload that requests volumes. */
export const MAX_TEMPLATES = 500
/** The maximum numbers of terms and of all their requirements in a node affinity. A larger object may not fit into etcd. */
export const MAX_TERMS = 100
export const MAX_REQUIREMENTS = 10_000

/** The requests for one pod spec. */
export interface MountCount {
  spec: PodSpec
  requests: readonly PlacedRequest[]
}

/** Returns an error if the requests add more mounts than an object can have. */
export function mountCountErrors(path: string, counts: readonly MountCount[]): FieldError[] {
  const mounts = counts.reduce((sum, { spec, requests }) => {
    const containers = spec.containers.length + (spec.initContainers?.length ?? 0)
    return sum + containers * requests.length
  }, 0)
  if (mounts <= MAX_MOUNTS) return []
  const message = `must add at most ${MAX_MOUNTS} mounts, adds ${mounts}; request fewer volumes, or use fewer containers`
  return [{ path, code: 'TooLong', message }]
}

/** Returns an error if a pod spec is larger than an object can be. Its mounts share their texts, so it is small until it is encoded. */
export function specSizeErrors(path: string, spec: PodSpec, volumes: number): FieldError[] {
  if (fitsIntoBytes(spec)) return []
  const containers = spec.containers.length + (spec.initContainers?.length ?? 0)
  const message = `would have more than the ${MAX_OBJECT_BYTES} bytes that etcd stores, with ${volumes} volumes in ${containers} containers; request fewer volumes, or use shorter mount paths`
  return [{ path, code: 'TooLong', message }]
}
