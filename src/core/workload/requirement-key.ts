/** Keys of node selector requirements: equal requirements have equal keys, so that lists are compared at linear cost. */
import type { NodeSelectorRequirement, NodeSelectorTerm } from '../../api/node.ts'
import { sortedUnique } from '../json.ts'

/** What a term asks for. */
export interface TermKeys {
  expressions: ReadonlySet<string>
  fields: ReadonlySet<string>
}

/** The terms of VolumeManagers are asked about again and again, and objects in memory never change. */
const keys = new WeakMap<NodeSelectorRequirement, string>()

/** The order of the values does not matter. */
export function requirementKey(requirement: NodeSelectorRequirement): string {
  const known = keys.get(requirement)
  if (known !== undefined) return known
  const { key, operator, values = [] } = requirement
  const text = JSON.stringify([key, operator, values.length < 2 ? values : sortedUnique(values)])
  keys.set(requirement, text)
  return text
}

/** Equal for terms that ask for the same, in whatever order. */
export function termKey({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): string {
  return JSON.stringify([matchExpressions, matchFields].map((list) => sortedUnique(list.map(requirementKey))))
}

/** Whether all that `term` asks for is among these. */
export function isCovered({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, by: TermKeys): boolean {
  return (
    matchExpressions.every((requirement) => by.expressions.has(requirementKey(requirement))) &&
    matchFields.every((requirement) => by.fields.has(requirementKey(requirement)))
  )
}
