/** Finds the stored workloads that given claims, sources and policies concern. */
import { type DataSource, dataSources } from '../../../api/data-source.ts'
import { type DataSourceClaim, dataSourceClaims, type WorkloadReference } from '../../../api/data-source-claim.ts'
import { clusterPropagationPolicies, type PropagationPolicy, propagationPolicies } from '../../../api/karmada.ts'
import type { K8sObject } from '../../../api/meta.ts'
import { defined } from '../../../base/json.ts'
import { workloadKey, workloadsOfClaim } from '../../../core/data-source-claim/keys.ts'
import { selectorKeys, selects } from '../../../core/propagation-policy/select.ts'
import { queryKeyOfSource } from '../../../store/kinds/query-key.ts'
import type { ObjectStore } from '../../../store/store.ts'
import { hasType, validateManifest } from '../input/validate-manifest.ts'

/**
 * Returns the workloads that an object concerns, by `workloadKey`. A malformed object concerns none. A policy concerns the workloads that it
 * names, and those that it selects and a claim names: the hub is not asked for all others.
 */
export function workloadsConcerned(object: K8sObject, hub: ObjectStore): Map<string, WorkloadReference> {
  const found = validateManifest(object).length > 0 ? [] : workloadsOf(object, hub)
  return new Map(found.map((workload) => [workloadKey(workload), workload]))
}

function workloadsOf(object: K8sObject, hub: ObjectStore): WorkloadReference[] {
  if (hasType(dataSourceClaims, object)) return workloadsOfClaim(object as DataSourceClaim)
  if (hasType(dataSources, object)) return claimsOfSource(object as DataSource, hub).flatMap(workloadsOfClaim)
  if (hasType(propagationPolicies, object) || hasType(clusterPropagationPolicies, object))
    return workloadsOfPolicy(object as PropagationPolicy, hub)
  return []
}

function claimsOfSource(source: DataSource, hub: ObjectStore): DataSourceClaim[] {
  return [
    ...hub.byIndex(dataSourceClaims, 'source', queryKeyOfSource(source)),
    ...hub.byIndex(dataSourceClaims, 'bound', source.metadata.name ?? ''),
  ]
}

function workloadsOfPolicy(policy: PropagationPolicy, hub: ObjectStore): WorkloadReference[] {
  const claimed = selectorKeys(policy)
    .flatMap((key) => [...hub.byIndex(dataSourceClaims, 'selectable', key)])
    .flatMap(workloadsOfClaim)
    // The labels of a workload are not known yet.
    .filter((workload) => selects(policy, workload, undefined) !== false)
  const named = policy.spec.resourceSelectors.flatMap(({ apiVersion, kind, name, namespace = '' }) => {
    const place = policy.metadata.namespace || namespace
    return name ? [defined({ apiVersion, kind, name, namespace: place || undefined })] : []
  })
  return [...claimed, ...named]
}
