/** Node affinities, matched as the scheduler matches them (k8s.io/component-helpers, scheduling/corev1/nodeaffinity). */
import type { Node, NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'

/** Whether the required terms of an affinity allow the node. Without required terms, every node is allowed. */
export function allowsNode(affinity: NodeAffinity | undefined, node: Pick<Node, 'metadata'>): boolean {
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution
  return required === undefined || required.nodeSelectorTerms.some((term) => matchesTerm(term, node))
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
