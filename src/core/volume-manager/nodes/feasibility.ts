/**
 * Whether a node is feasible for a Pod: its health, its platform, its taints, and the node affinity of the Pod. They are the rules of the
 * scheduler that depend on the node alone (k8s.io/component-helpers, scheduling/corev1).
 */
import {
  type Node,
  type NodeAffinity,
  type NodeSelectorRequirement,
  type NodeSelectorTerm,
  requiredTermsOf,
  type Taint,
  type Toleration,
} from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { findCondition, isTrue } from '../../../base/conditions.ts'
import { defined } from '../../../base/json.ts'
import { onPresentClock, type Present } from '../../../base/time/clock-jumps.ts'
import { Tolerations } from '../../tolerations.ts'

export interface NodeHealth {
  isReady: boolean
  /** Since when it is not ready, in ms since the epoch. */
  since?: number
}

/** Reads the condition Ready. A node without it counts as ready, because manifests in a folder have no status. */
export function readNodeHealth({ status }: Node): NodeHealth {
  const ready = findCondition(status?.conditions, 'Ready')
  if (!ready || ready.status === 'True') return { isReady: true }
  const since = Date.parse(ready.lastTransitionTime ?? '')
  return defined({ isReady: false, since: Number.isNaN(since) ? undefined : since })
}

/** When a node that is not ready was not ready for this long, in ms since the epoch; undefined while the node is ready. */
export function unreadyFor(node: Node, seconds: number, since: number): number | undefined {
  const health = readNodeHealth(node)
  return health.isReady ? undefined : (health.since ?? since) + seconds * 1000
}

/** Whether a node has not been ready for so long that its replicas count as lost. */
export function isLostNode(
  node: Node,
  { settings, now, jumps }: { settings: { nodeLossSeconds: number } } & Present,
): boolean {
  const { isReady, since } = readNodeHealth(node)
  return !isReady && since !== undefined && now >= onPresentClock(since, jumps) + settings.nodeLossSeconds * 1000
}

/** Whether the kubelet reports disk pressure. */
export function hasDiskPressure({ status }: Node): boolean {
  return isTrue(status?.conditions, 'DiskPressure')
}

/** Labels that the kubelet sets on its node (k8s.io/api/core/v1, LabelOSStable, LabelHostname and LabelArchStable). */
export const OS_LABEL = 'kubernetes.io/os'
export const HOSTNAME_LABEL = 'kubernetes.io/hostname'
const ARCHITECTURE_LABEL = 'kubernetes.io/arch'

/** The requirements of movers on the labels of nodes. In a mixed cluster, a node may run Windows or have another processor. */
export function platformRequirements(architectures: readonly string[]): NodeSelectorRequirement[] {
  return [
    { key: OS_LABEL, operator: 'In', values: ['linux'] },
    { key: ARCHITECTURE_LABEL, operator: 'In', values: [...architectures] },
  ]
}

/** Whether the image of movers runs on a node. */
export function runsMovers({ metadata: { labels = {} } }: Pick<Node, 'metadata'>, architectures: readonly string[]) {
  return labels[OS_LABEL] === 'linux' && architectures.includes(labels[ARCHITECTURE_LABEL] ?? '')
}

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
  return new Tolerations(tolerations.filter(({ key, operator }) => key || operator === 'Exists')).blocking(taints)
}

/** Whether a pod may run on a node. Free resources are not known. */
export function fitsNode({ nodeSelector = {}, affinity, tolerations }: PodSpec, node: Node): boolean {
  const { labels = {} } = node.metadata
  return (
    readNodeHealth(node).isReady &&
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    allowsNode(affinity?.nodeAffinity, node) &&
    toleratesNode(tolerations, node)
  )
}

/** Whether the required terms of an affinity allow the node. Without required terms, every node is allowed. */
export function allowsNode(affinity: NodeAffinity | undefined, node: Pick<Node, 'metadata'>): boolean {
  return requiredTermsOf(affinity)?.some((term) => matchesTerm(term, node)) ?? true
}

/** Whether a term matches the node. A term without requirements matches no node. */
function matchesTerm({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, node: Pick<Node, 'metadata'>) {
  if (matchExpressions.length + matchFields.length === 0) return false
  const { labels = {}, name } = node.metadata
  return (
    matchExpressions.every((one) => satisfies(one, Object.hasOwn(labels, one.key) ? labels[one.key] : undefined)) &&
    matchFields.every((one) => satisfies(one, one.key === 'metadata.name' ? name : undefined))
  )
}

function satisfies({ operator, values = [] }: NodeSelectorRequirement, actual: string | undefined): boolean {
  switch (operator) {
    case 'In':
      return actual !== undefined && values.includes(actual)
    case 'NotIn':
      return actual === undefined || !values.includes(actual)
    case 'Exists':
      return actual !== undefined
    case 'DoesNotExist':
      return actual === undefined
    case 'Gt':
      return isInteger(actual) && Number(actual) > Number(values[0])
    case 'Lt':
      return isInteger(actual) && Number(actual) < Number(values[0])
    default:
      return false
  }
}

/** Whether a text is an integer, as the operators Gt and Lt need it. */
export function isInteger(text: string | undefined): boolean {
  return text !== undefined && /^[+-]?\d+$/.test(text)
}
