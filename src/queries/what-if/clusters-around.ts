/** The clusters that matter to a workload: where it runs, where its data is, and what its narrowing names. */
import type { DataSourceClaim } from '../../api/data-source-claim.ts'
import type { BindingSpec, ClusterAffinity, ResourceBinding } from '../../api/karmada.ts'
import type { ClaimAnswer } from '../../core/data-source/locate.ts'
import { affinityTerms, effectiveAffinity } from '../../core/placement/affinity.ts'
import { isSuspended, isWorkload, schedulingFailure, targetClusters } from '../../core/placement/binding-state.ts'
import { hasOurAnnotations } from '../../core/resource-binding/annotations.ts'
import { isScheduled } from '../../core/what-if/schedule.ts'
import { claimsFor } from '../permission.ts'
import { claimSource } from '../source.ts'
import { locateVolumes } from '../volume-locations.ts'
import type { World } from './world.ts'

/** The data of a workload in the present world. */
export interface WorkloadData {
  claims: readonly DataSourceClaim[]
  volumes: readonly ClaimAnswer[]
}

/** Reads the data of a workload. */
export function dataOf(binding: ResourceBinding, { store, clusterScopedClaims }: World): WorkloadData {
  return {
    claims: claimsFor(binding.spec.resource, store, clusterScopedClaims),
    volumes: locateVolumes(binding, store),
  }
}

/** Whether a placement needs a number of clusters: then each cluster that it allows matters, and not only the last one. */
export function countsClusters({ placement }: BindingSpec): boolean {
  return (placement?.spreadConstraints?.length ?? 0) > 0
}

/** Returns the clusters that matter to a workload. One that runs where all of its data is has no others. */
export function clustersAround(binding: ResourceBinding, data: WorkloadData, world: World): Set<string> {
  const { spec, metadata } = binding
  const targets = targetClusters(spec)
  const places = placesOf(data, world)
  const names = new Set(targets)
  if (isAtHome(binding, places, world)) return names
  for (const clusters of places) for (const name of clusters) names.add(name)
  if (places.length > 0 || hasOurAnnotations(metadata.annotations)) {
    const terms = [...affinityTerms(effectiveAffinity(spec.placement), isWorkload(spec)), ...weightTerms(spec)]
    for (const { clusterNames = [] } of terms) for (const name of clusterNames) names.add(name)
  }
  return names
}

/** The clusters with weights: data elsewhere waits while one of them gets the replicas. */
function weightTerms({ placement }: BindingSpec): ClusterAffinity[] {
  const { staticWeightList = [] } = placement?.replicaScheduling?.weightPreference ?? {}
  return staticWeightList.flatMap(({ targetCluster }) => targetCluster ?? [])
}

/** The clusters of each claim and each volume of a workload; none for one without a known location. */
function placesOf({ claims, volumes }: WorkloadData, { store }: World): (readonly string[])[] {
  return [
    ...claims.map((claim) => claimSource(claim, store)?.spec.locality?.clusterNames ?? []),
    ...volumes.map(({ answer }) => (answer.kind === 'located' ? answer.clusters : [])),
  ]
}

/** Whether a workload runs where all of its data is, and the scheduler has nothing left to do. If another cluster gets worse, it stays. */
function isAtHome(binding: ResourceBinding, places: (readonly string[])[], { fleet }: World): boolean {
  const { spec } = binding
  if (places.length === 0 || countsClusters(spec)) return false
  if (isSuspended(spec) || schedulingFailure(binding) !== undefined || !isScheduled(binding, fleet)) return false
  const targets = targetClusters(spec)
  return places.every((clusters) => targets.every((name) => clusters.includes(name)))
}
