/** A dependency, reduced to its identity and a digest of its content. */
import type { K8sObject } from '../../api/meta.ts'

export interface Dependent extends K8sObject {
  /** A digest of all fields but the status and bookkeeping; only for kinds that have a status. */
  content?: string
}

/**
 * Whether at most the status or bookkeeping changed. Karmada writes the collected status of members back to Services, Ingresses and
 * PersistentVolumeClaims. Such a write is no reason to apply them in members again (pkg/util/eventfilter).
 */
export function isContentUnchanged(before?: Dependent, after?: Dependent): boolean {
  if (!before || !after || before.metadata.uid !== after.metadata.uid) return false
  const { generation } = before.metadata
  return before.content === undefined
    ? generation !== undefined && generation === after.metadata.generation
    : before.content === after.content
}
