/** The platform of movers: the operating system and the architectures of the nodes on which their image runs. */
import type { Node, NodeSelectorRequirement } from '../../../api/node.ts'

/** Labels that the kubelet sets on its node (k8s.io/api/core/v1, LabelOSStable and LabelArchStable). */
export const OS_LABEL = 'kubernetes.io/os'
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
