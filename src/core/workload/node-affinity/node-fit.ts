/** Whether a pod may run on a node, by the rules of the scheduler that depend on the node alone; free resources are not known. */
import type { Node } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { allowsNode, readNodeHealth, toleratesNode } from '../../volume-manager/nodes/feasibility.ts'

export function fitsNode({ nodeSelector = {}, affinity, tolerations }: PodSpec, node: Node): boolean {
  const { labels = {} } = node.metadata
  return (
    readNodeHealth(node).isReady &&
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    allowsNode(affinity?.nodeAffinity, node) &&
    toleratesNode(tolerations, node)
  )
}
