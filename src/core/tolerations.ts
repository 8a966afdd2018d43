/** Compares tolerations with taints, as Kubernetes does for nodes and Karmada for clusters. */
import type { Taint, Toleration } from '../api/node.ts'

/** The effects that keep new pods, or new workloads, away. `PreferNoSchedule` only lowers a score. */
const BLOCKING_EFFECTS: readonly string[] = ['NoSchedule', 'NoExecute']

/** Returns the taints that keep an object with these tolerations away (k8s.io/component-helpers, FindMatchingUntoleratedTaint). */
export function blockingTaints(taints: readonly Taint[] = [], tolerations: readonly Toleration[] = []): Taint[] {
  return taints.filter(
    (taint) => BLOCKING_EFFECTS.includes(taint.effect) && !tolerations.some((one) => tolerates(one, taint)),
  )
}

/**
 * Whether a toleration matches a taint (k8s.io/api/core/v1, Toleration.ToleratesTaint). An empty effect or key matches every one, also with
 * the operator Equal: Karmada does not validate the tolerations of a policy. The operators Lt and Gt match nothing, since Karmada disables
 * them.
 */
function tolerates({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  if (key && key !== taint.key) return false
  if (!operator || operator === 'Equal') return (value ?? '') === (taint.value ?? '')
  return operator === 'Exists'
}

/** A taint that evicts a workload, and after how many seconds: 0 at once. */
export interface EvictingTaint {
  taint: Taint
  seconds: number
}

/**
 * Finds the taint that first evicts a workload from its cluster; undefined if none does. The shortest toleration of a taint counts, as in Karmada's
 * taint manager (v1.18.1, pkg/controllers/cluster/taint_manager.go, needEviction).
 */
export function evictingTaint(
  taints: readonly Taint[] = [],
  tolerations: readonly Toleration[] = [],
): EvictingTaint | undefined {
  return taints
    .filter(({ effect }) => effect === 'NoExecute')
    .map((taint) => {
      const matching = tolerations.filter((one) => tolerates(one, taint))
      const limits = matching.map(({ tolerationSeconds }) => Math.max(0, tolerationSeconds ?? Number.POSITIVE_INFINITY))
      return { taint, seconds: limits.length === 0 ? 0 : Math.min(...limits) }
    })
    .filter(({ seconds }) => Number.isFinite(seconds))
    .sort((a, b) => a.seconds - b.seconds)[0]
}

/** Returns a taint as kubectl prints it: `key=value:effect`, or `key:effect` without a value. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}
