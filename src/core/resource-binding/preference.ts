/** Decides whether preferred data may choose the clusters of a workload: a preference never removes copies that run. */
import type { BindingSpec } from '../../api/karmada.ts'

interface PreferenceInput {
  spec: Pick<BindingSpec, 'placement' | 'clusters'>
  /** Karmada's IsWorkload: any other object counts as duplicated (pkg/scheduler/scheduler.go, doScheduleBinding). */
  isWorkload: boolean
  preferred: readonly (readonly string[])[]
}

/** Returns why a preference must not change the clusters, as a part of a sentence; undefined if it may. */
export function preferenceProblem({ spec, isWorkload, preferred }: PreferenceInput): string | undefined {
  if (!isDivided(spec, isWorkload)) {
    return maxClusters(spec) === 1
      ? undefined
      : 'the policy runs a copy in each of its clusters (Duplicated), and a preference removes no copy'
  }
  const { clusters = [] } = spec
  const isPreferred = (name: string) => preferred.some((tier) => tier.includes(name))
  return clusters.length > 1 && !clusters.every(({ name }) => isPreferred(name))
    ? 'the replicas are divided over several clusters, and a preference moves none of them'
    : undefined
}

/** Without a replicaScheduling, Karmada duplicates (pkg/apis/policy/v1alpha1/propagation_helper.go, ReplicaSchedulingType). */
function isDivided({ placement }: PreferenceInput['spec'], isWorkload: boolean): boolean {
  const { replicaScheduling } = placement ?? {}
  return isWorkload && replicaScheduling !== undefined && replicaScheduling.replicaSchedulingType !== 'Duplicated'
}

/** The number of clusters to which the spread constraints limit a workload; undefined for no limit. */
function maxClusters({ placement }: PreferenceInput['spec']): number | undefined {
  const limits = placement?.spreadConstraints
    ?.filter(({ spreadByField = 'cluster', spreadByLabel }) => !spreadByLabel && spreadByField === 'cluster')
    .flatMap(({ maxGroups }) => maxGroups ?? [])
  return limits?.length ? Math.min(...limits) : undefined
}
