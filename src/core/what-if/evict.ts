/** The evictions of Karmada's taint manager, for a workload whose clusters get taints. */
import { APPLIED_PLACEMENT_ANNOTATION, type ResourceBinding } from '../../api/karmada.ts'
import type { Toleration } from '../../api/node.ts'
import { targetClusters } from '../placement/binding-state.ts'
import { isTolerant } from '../resource-binding/annotation-shapes.ts'
import { parseAnnotation } from '../resource-binding/annotations.ts'
import { Tolerations } from '../tolerations.ts'
import type { Fleet } from './fleet.ts'

export interface Eviction {
  /** The clusters that the workload leaves, sorted. */
  from: readonly string[]
  /** After how many seconds it has left all of them: 0 at once. */
  afterSeconds: number
}

/**
 * The tolerations that the taint manager reads: those of the placement that the scheduler applied last (v1.18.1,
 * pkg/controllers/cluster/taint_manager.go, syncBindingEviction). The cache keeps that placement while it can differ from the one of the binding.
 */
function appliedTolerations({ metadata, spec }: ResourceBinding): Toleration[] | undefined {
  const text = metadata.annotations?.[APPLIED_PLACEMENT_ANNOTATION]
  const applied = text === undefined ? undefined : parseAnnotation(text)
  return (isTolerant(applied) ? applied : spec.placement)?.clusterTolerations
}

/** Finds the clusters that a workload leaves because of taints with the effect NoExecute; undefined if it leaves none. */
export function findEviction(binding: ResourceBinding, { clusters }: Fleet): Eviction | undefined {
  const tolerations = new Tolerations(appliedTolerations(binding))
  const evictions = targetClusters(binding.spec).flatMap((name) => {
    const evicting = tolerations.evicting(clusters?.(name)?.spec?.taints)
    return evicting ? [{ name, seconds: evicting.seconds }] : []
  })
  if (evictions.length === 0) return undefined
  return {
    from: evictions.map(({ name }) => name).sort(),
    afterSeconds: Math.max(...evictions.map(({ seconds }) => seconds)),
  }
}

/**
 * Returns the binding as the taint manager writes it: without the clusters, and with a task for each. It is GracefulEvictCluster of the API
 * work.karmada.io/v1alpha2 in Karmada 1.18.1 (binding_types_helper.go).
 */
export function evict(binding: ResourceBinding, from: readonly string[]): ResourceBinding {
  const { clusters = [], gracefulEvictionTasks = [], ...spec } = binding.spec
  const left = clusters.filter(({ name }) => !from.includes(name))
  const tasks = from.map((fromCluster) => ({ fromCluster }))
  return {
    ...binding,
    spec: {
      ...spec,
      ...(left.length > 0 && { clusters: left }),
      gracefulEvictionTasks: [...gracefulEvictionTasks, ...tasks],
    },
  }
}
