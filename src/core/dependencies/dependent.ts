/** An object that workloads need, cut down to its identity and a digest of its content. */
import type { K8sObject } from '../../api/meta.ts'

export interface Dependent extends K8sObject {
  /** Changes with everything but status and bookkeeping; only of kinds that have a status. */
  content?: string
}

/**
 * Whether only the status or bookkeeping changed. Karmada writes the collected status of members back to Services, Ingresses and claims.
 * That is no reason to put them into members again (pkg/util/eventfilter).
 */
export function isContentUnchanged(before?: Dependent, after?: Dependent): boolean {
  if (!before || !after || before.metadata.uid !== after.metadata.uid) return false
  const { generation } = before.metadata
  return before.content === undefined
    ? generation !== undefined && generation === after.metadata.generation
    : before.content === after.content
}
