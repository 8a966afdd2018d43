/** Whether the taints of a node keep Pods away, as the scheduler decides (k8s.io/component-helpers, scheduling/corev1). */
import type { Node, Taint, Toleration } from '../../../api/node.ts'
import { blockingTaints } from '../../tolerations.ts'

/** The taint of a cordoned node. `spec.unschedulable` has the same effect before the node controller adds it. */
const CORDONED: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' }

/** Whether a Pod with these tolerations can be scheduled to the node. */
export function toleratesNode(tolerations: readonly Toleration[] = [], node: Pick<Node, 'spec'>): boolean {
  return taintsAgainst(tolerations, node).length === 0
}

/**
 * Whether an administrator keeps Pods with these tolerations off the node. Taints of the node controller, such as `not-ready`, do not count:
 * the node may recover, and its data with it.
 */
export function isClosedTo(tolerations: readonly Toleration[] = [], node: Pick<Node, 'spec'>): boolean {
  return taintsAgainst(tolerations, node).some(
    ({ key }) => key === CORDONED.key || !key.startsWith('node.kubernetes.io/'),
  )
}

function taintsAgainst(tolerations: readonly Toleration[], { spec }: Pick<Node, 'spec'>): Taint[] {
  const taints = [...(spec?.taints ?? []), ...(spec?.unschedulable ? [CORDONED] : [])]
  // The API server rejects a Pod whose toleration has neither a key nor the operator Exists.
  return blockingTaints(
    taints,
    tolerations.filter(({ key, operator }) => key || operator === 'Exists'),
  )
}
