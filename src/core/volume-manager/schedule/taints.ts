/** Taints and tolerations, matched as the scheduler matches them (k8s.io/component-helpers, scheduling/corev1). */
import type { Node, Taint, Toleration } from '../../../api/node.ts'

/** The taint of a cordoned node. `spec.unschedulable` has the same effect before the node controller adds it. */
const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }
const EFFECTS: readonly string[] = ['NoSchedule', 'NoExecute']

/** Whether a Pod with these tolerations can be scheduled to the node. */
export function toleratesNode(tolerations: readonly Toleration[] = [], node: Pick<Node, 'spec'>): boolean {
  return blockingTaints(tolerations, node).length === 0
}

/**
 * Whether an administrator keeps Pods with these tolerations off the node. Taints of the node controller, such as `not-ready`, do not count:
 * the node may recover, and its data with it.
 */
export function isClosedTo(tolerations: readonly Toleration[] = [], node: Pick<Node, 'spec'>): boolean {
  return blockingTaints(tolerations, node).some(
    ({ key }) => key === CORDONED.key || !key.startsWith('node.kubernetes.io/'),
  )
}

function blockingTaints(tolerations: readonly Toleration[], { spec }: Pick<Node, 'spec'>): Taint[] {
  const taints = [...(spec?.taints ?? []), ...(spec?.unschedulable ? [CORDONED] : [])]
  return taints.filter((taint) => EFFECTS.includes(taint.effect) && !tolerations.some((one) => tolerates(one, taint)))
}

function tolerates({ key, operator = 'Equal', value = '', effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false
  // A toleration without a key tolerates every taint; the API server allows it only with Exists.
  if (key && key !== taint.key) return false
  return operator === 'Exists' || (operator === 'Equal' && Boolean(key) && value === (taint.value ?? ''))
}
