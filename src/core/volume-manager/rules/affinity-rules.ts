/** Finds the fields of a node affinity that the API server would reject in the Pods of movers. */
import type { NodeAffinity, NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'
import { isInteger } from '../nodes/feasibility.ts'

interface AffinityProblem {
  path: string
  message: string
}

const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt']

/** Returns the fields of an affinity that the API server would reject in a Pod, and an empty list of terms, which matches no node. */
export function affinityProblems(affinity: NodeAffinity | undefined): AffinityProblem[] {
  const required = affinity?.requiredDuringSchedulingIgnoredDuringExecution
  const path = 'requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms'
  const none = required?.nodeSelectorTerms.length === 0 ? [{ path, message: 'must have a term' }] : []
  return [
    ...none,
    ...(required?.nodeSelectorTerms ?? []).flatMap((term, i) => termProblems(term, `${path}[${i}]`)),
    ...(affinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(({ weight, preference }, i) => {
      const at = `preferredDuringSchedulingIgnoredDuringExecution[${i}]`
      const outside = weight < 1 || weight > 100 ? [{ path: `${at}.weight`, message: 'must be 1 to 100' }] : []
      return [...outside, ...termProblems(preference, `${at}.preference`)]
    }),
  ]
}

function termProblems({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, path: string): AffinityProblem[] {
  return [
    ...matchExpressions.flatMap((one, i) => requirementProblems(one, `${path}.matchExpressions[${i}]`)),
    ...matchFields.flatMap((one, i) => fieldProblems(one, `${path}.matchFields[${i}]`)),
  ]
}

function requirementProblems({ operator, values = [] }: NodeSelectorRequirement, path: string): AffinityProblem[] {
  const wrong = (message: string) => [{ path, message }]
  if (!OPERATORS.includes(operator)) return wrong(`must have an operator of ${OPERATORS.join(', ')}`)
  if (['In', 'NotIn'].includes(operator)) return values.length > 0 ? [] : wrong(`must have values for ${operator}`)
  if (['Exists', 'DoesNotExist'].includes(operator)) {
    return values.length === 0 ? [] : wrong(`must have no values for ${operator}`)
  }
  return values.length === 1 && isInteger(values[0]) ? [] : wrong(`must have one integer as value for ${operator}`)
}

function fieldProblems({ key, operator, values = [] }: NodeSelectorRequirement, path: string): AffinityProblem[] {
  const isRight = key === 'metadata.name' && ['In', 'NotIn'].includes(operator) && values.length === 1
  return isRight ? [] : [{ path, message: 'must be metadata.name In or NotIn one value' }]
}
