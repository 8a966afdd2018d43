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

/** Returns a taint as kubectl prints it: `key=value:effect`, or `key:effect` without a value. */
export function taintText({ key, value, effect }: Taint): string {
  return `${key}${value ? `=${value}` : ''}:${effect}`
}
