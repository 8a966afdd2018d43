/** Whether a pod may run on a node, by the rules of the scheduler that depend on the node alone; free resources are not known. */
import type { Node } from '../../../api/node.ts'
import type { PodSpec } from '../../../api/pod.ts'
import { allowsNode } from '../../volume-manager/nodes/node-affinity.ts'
import { healthOf } from '../../volume-manager/nodes/node-health.ts'
import { toleratesNode } from '../../volume-manager/nodes/taints.ts'

export function fitsNode({ nodeSelector = {}, affinity, tolerations }: PodSpec, node: Node): boolean {
  const { labels = {} } = node.metadata
  return (
    healthOf(node).isReady &&
    Object.entries(nodeSelector).every(([key, value]) => labels[key] === value) &&
    allowsNode(affinity?.nodeAffinity, node) &&
    toleratesNode(tolerations, node)
  )
}
