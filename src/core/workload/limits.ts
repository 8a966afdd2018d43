/** Limits the volumes in one object: each container gets each volume, so both lists together have a limit. */
import type { PodSpec } from '../../api/pod.ts'
import type { FieldError } from '../field-errors.ts'
import type { PlacedRequest } from './volume-requests.ts'

/** The most mounts that the requests of one object may add up to. */
const MAX_MOUNTS = 20_000
/** The most pod templates of one workload that requests volumes. */
export const MAX_TEMPLATES = 500
/** Terms, and requirements of all terms, that node affinity may have before the object gets too large for etcd. */
export const MAX_TERMS = 100
export const MAX_REQUIREMENTS = 10_000

/** The requests for one pod spec. */
export interface MountCount {
  spec: PodSpec
  requests: readonly PlacedRequest[]
}

/** An error when the requests add up to more mounts than an object can have. */
export function mountCountErrors(path: string, counts: readonly MountCount[]): FieldError[] {
  const mounts = counts.reduce((sum, { spec, requests }) => {
    const containers = spec.containers.length + (spec.initContainers?.length ?? 0)
    return sum + containers * requests.length
  }, 0)
  if (mounts <= MAX_MOUNTS) return []
  const message = `would come to ${mounts} mounts, more than ${MAX_MOUNTS}; ask for fewer volumes, or have fewer containers`
  return [{ path, code: 'TooLong', message }]
}
