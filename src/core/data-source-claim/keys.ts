/** The keys by which claims, sources and bindings find each other. */
import type { DataSource } from '../../api/data-source.ts'
import type { DataSourceClaim, WorkloadReference } from '../../api/data-source-claim.ts'
import { groupOf } from '../../api/meta.ts'

/** A workload's key: group, kind, namespace and name. The version does not matter, and a cluster-scoped workload has no namespace. */
export function workloadKey(workload: { apiVersion: string; kind: string; namespace?: string; name: string }): string {
  return `${groupOf(workload.apiVersion)}/${workload.kind}/${workload.namespace ?? ''}/${workload.name}`
}

/**
 * The workloads that a claim may name. Without `workload.namespace` these are the workload in the namespace of the claim, and the
 * cluster-scoped one of that kind and name. A kind is namespaced or not, so at most one of the two exists.
 */
export function workloadsOfClaim({ metadata, spec }: DataSourceClaim): WorkloadReference[] {
  const { namespace, ...workload } = spec.workload
  if (namespace) return [spec.workload]
  return metadata.namespace ? [{ ...workload, namespace: metadata.namespace }, workload] : [workload]
}

/** Their keys. */
export function workloadKeysOfClaim(claim: DataSourceClaim): string[] {
  return workloadsOfClaim(claim).map(workloadKey)
}

/** The namespace of the workload that a claim names, where that is not the claim's own; undefined elsewhere. */
export function otherNamespaceOf({ metadata, spec }: DataSourceClaim): string | undefined {
  const { namespace } = spec.workload
  return namespace && namespace !== metadata.namespace ? namespace : undefined
}

/** The key of a query to a data system; claims and sources with equal keys belong together. */
function sourceKey(system: string, type: string, name: string, attributes: Record<string, string> = {}): string {
  const entries = Object.entries(attributes).sort(([a], [b]) => (a < b ? -1 : 1))
  return JSON.stringify(entries.length === 0 ? [system, type, name] : [system, type, name, entries])
}

/** The query of a claim, as the spec of the source that answers it. */
export function queryOfClaim({ spec }: DataSourceClaim): DataSource['spec'] {
  const { system, dataSourceType: type, dataSourceName: name, attributes } = spec
  return { system, type, name, ...(attributes && { attributes }) }
}

/** The name of the source that a claim is bound to; undefined after an edit of its spec, since it then has another query. */
export function boundSourceOf({ metadata, status }: DataSourceClaim): string | undefined {
  const observed = status?.conditions?.find(({ type }) => type === 'Bound')?.observedGeneration
  return observed === undefined || observed === metadata.generation ? status?.boundDataSource : undefined
}

export function sourceKeyOfClaim({ spec }: DataSourceClaim): string {
  return sourceKey(spec.system, spec.dataSourceType, spec.dataSourceName, spec.attributes)
}

export function sourceKeyOfSource({ spec }: DataSource): string {
  return sourceKey(spec.system, spec.type, spec.name, spec.attributes)
}
