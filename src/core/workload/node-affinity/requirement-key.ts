/** Keys of node selector requirements. Equal requirements have equal keys, so lists are compared at linear cost. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../../api/node.ts'
import { sortedUnique } from '../../../base/json.ts'

/** The keys of the requirements of a term. */
export interface TermKeys {
  expressions: ReadonlySet<string>
  fields: ReadonlySet<string>
}

/** Cached keys: the terms of VolumeManagers are compared many times, and cached objects never change. */
const keys = new WeakMap<NodeSelectorRequirement, string>()

/** The key of a requirement. The order of the values does not matter. */
export function requirementKey(requirement: NodeSelectorRequirement): string {
  const known = keys.get(requirement)
  if (known !== undefined) return known
  const { key, operator, values = [] } = requirement
  const text = JSON.stringify([key, operator, values.length < 2 ? values : sortedUnique(values)])
  keys.set(requirement, text)
  return text
}

/** A key that is equal for terms with the same requirements in any order. */
export function termKey({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string {
  return JSON.stringify([matchExpressions, matchFields].map((list) => sortedUnique(list.map(requirementKey))))
}

/** Whether all requirements of `term` are in `by`. */
export function isCovered({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, by: TermKeys): boolean {
  return (
    matchExpressions.every((requirement) => by.expressions.has(requirementKey(requirement))) &&
    matchFields.every((requirement) => by.fields.has(requirementKey(requirement)))
  )
}
