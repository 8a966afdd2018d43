/** Names the volume of a pod after its VolumeManager. The name is readable and valid in Kubernetes. */
import { fnv1a } from '../../../base/hash.ts'

/** The maximum length of a DNS label (k8s.io/apimachinery, pkg/util/validation). */
const MAX_LENGTH = 63
const PLAIN = /^[a-z0-9]+(-[a-z0-9]+)*$/

/**
 * Returns `manager--id`, or `manager--id--shard` for a shard. A name that is too long or has other characters gets a hash at its end.
 *
 * The hash makes names unique: `a.b` and `a-b` get different names, and so do `a-b` of `c` and `b-c` of `a`.
 */
export function volumeName(manager: string, id: string, shard?: string): string {
  const parts = shard === undefined ? [manager, id] : [manager, id, shard]
  const name = parts.join('--')
  if (name.length <= MAX_LENGTH && parts.every((part) => PLAIN.test(part))) return name
  const hash = fnv1a(JSON.stringify(parts))
  const readable = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replace(/^-/, '')
  return `${readable.slice(0, MAX_LENGTH - hash.length - 1)}-${hash}`.replaceAll(/-+/g, '-').replace(/^-/, '')
}
