/** The index keys by which claims, sources and bindings find each other. */

import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import { groupOf, type ObjectMeta } from '../../api/meta.ts'
import { findCondition } from '../../base/conditions.ts'
import { defined } from '../../base/json.ts'

/**
 * Returns the key of a workload: group, kind, namespace and name. The version does not matter. A cluster-scoped workload has no namespace.
 * V8 keeps a text of a template as a tree of its parts, with twice the memory of a joined one. Indexes have hundreds of thousands of keys.
 */
export function workloadKey(workload: { apiVersion: string; kind: string; namespace?: string; name: string }): string {
  return [groupOf(workload.apiVersion), workload.kind, workload.namespace ?? '', workload.name].join('/')
}

/** What of a claim names its workload. */
interface NamesWorkload {
  metadata: Pick<ObjectMeta, 'name' | 'namespace'>
  spec: { workload: WorkloadReference }
}

/**
 * Returns the workloads that a claim may name. Without `workload.namespace`, these are the workload in the namespace of the claim and the
 * cluster-scoped workload of that kind and name. A kind is either namespaced or not, so at most one of them exists.
 */
export function workloadsOfClaim({ metadata, spec }: NamesWorkload): WorkloadReference[] {
  const { namespace, ...workload } = spec.workload
  if (namespace) return [spec.workload]
  return metadata.namespace ? [{ ...workload, namespace: metadata.namespace }, workload] : [workload]
}

/** Returns the keys of the workloads that a claim may name. */
export function workloadKeysOfClaim(claim: NamesWorkload): string[] {
  return workloadsOfClaim(claim).map(workloadKey)
}

/** Returns the namespace of the workload that a claim names, if it is not the claim's own; otherwise undefined. */
export function otherNamespaceOf({ metadata, spec }: DataSourceClaim): string | undefined {
  const { namespace } = spec.workload
  return namespace && namespace !== metadata.namespace ? namespace : undefined
}

/** Returns the key of a query to a data system, whatever the order of its attributes. A claim and a source with equal keys belong together. */
export function queryKey({ system, type, name, attributes = {} }: DataSource['spec']): string {
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(entries.length === 0 ? [system, type, name] : [system, type, name, entries])
}

/** Returns the query of a claim, as the spec of its DataSource. */
export function queryOfClaim({ spec }: DataSourceClaim): DataSource['spec'] {
  const { system, dataSourceType: type, dataSourceName: name, attributes } = spec
  return defined({ system, type, name, attributes })
}

/** Returns the source that a claim is bound to; undefined after a change of the claim's spec, since its query may have changed. */
export function boundSourceOf({ metadata, status }: DataSourceClaim): string | undefined {
  const observed = findCondition(status?.conditions, 'Bound')?.observedGeneration
  return observed === undefined || observed === metadata.generation ? status?.boundDataSource : undefined
}
