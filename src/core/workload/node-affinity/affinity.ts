/** Narrows the node affinity of a pod to required nodes, and adds preferences for nodes. */
import type { NodeSelectorRequirement, NodeSelectorTerm, PreferredSchedulingTerm } from '../../../api/node.ts'
import { defined } from '../../../base/json.ts'
import { isCovered, requirementKey, type TermKeys, termKey } from './requirement-key.ts'

/**
 * Returns terms that match a node if one of `terms` and one of `wanted` match it. If `terms` is undefined, it matches every node.
 *
 * A term that already has all requirements of a wanted one stays as it is, so that a second narrowing changes nothing. An empty term stays
 * as well, since no node matches it (k8s.io/component-helpers, scheduling/corev1/nodeaffinity).
 */
export function narrowTerms(
  terms: readonly NodeSelectorTerm[] | undefined,
  wanted: readonly NodeSelectorTerm[],
): readonly NodeSelectorTerm[] {
  const real = wanted.filter((term) => !isEmpty(term))
  // An empty term matches no node. The API server would reject an empty list; undefined would match every node.
  if (real.length === 0) return terms?.every(isEmpty) ? terms : [{}]
  if (terms === undefined) return real
  const named = new Set(
    real.flatMap(({ matchExpressions = [], matchFields = [] }) =>
      [...matchExpressions, ...matchFields].map(({ key }) => key),
    ),
  )
  return terms.flatMap((term) => {
    if (isEmpty(term)) return [term]
    const own = termKeys(term, named)
    return real.some((one) => isCovered(one, own)) ? [term] : real.map((one) => both(term, one, own))
  })
}

/** Appends the added preferences whose terms are not in the list yet. Weights are not compared. */
export function addPreferences(
  preferences: readonly PreferredSchedulingTerm[],
  added: readonly PreferredSchedulingTerm[],
): readonly PreferredSchedulingTerm[] {
  const known = new Set(preferences.map(({ preference }) => termKey(preference)))
  const fresh = added.filter(({ preference }) => {
    const key = termKey(preference)
    if (known.has(key) || isEmpty(preference)) return false
    known.add(key)
    return true
  })
  return fresh.length === 0 ? preferences : [...preferences, ...fresh]
}

/**
 * Returns the one node that all terms require by name, as the DaemonSet controller sets it; undefined if more than one node is possible.
 */
export function pinnedNode(terms: readonly NodeSelectorTerm[] | undefined): string | undefined {
  const names = (terms ?? []).map(({ matchFields = [] }) => {
    const byName = matchFields.find(({ key, operator }) => key === 'metadata.name' && operator === 'In')
    return byName?.values?.length === 1 ? byName.values[0] : undefined
  })
  return names.every((name) => name === names[0]) ? names[0] : undefined
}

/** Whether no node matches the term because it has no requirements. */
function isEmpty({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm): boolean {
  return matchExpressions.length === 0 && matchFields.length === 0
}

/** The keys of the requirements of a term on the named labels and fields. The values of all others may be many, and are not read. */
function termKeys({ matchExpressions = [], matchFields = [] }: NodeSelectorTerm, named: ReadonlySet<string>): TermKeys {
  const keys = (requirements: readonly NodeSelectorRequirement[]) =>
    new Set(requirements.filter(({ key }) => named.has(key)).map(requirementKey))
  return { expressions: keys(matchExpressions), fields: keys(matchFields) }
}

/** Adds the missing requirements at the end of the term: the API server allows no other change of a pod with scheduling gates. */
function both(term: NodeSelectorTerm, other: NodeSelectorTerm, own: TermKeys): NodeSelectorTerm {
  const expressions = missing(own.expressions, other.matchExpressions)
  const fields = missing(own.fields, other.matchFields)
  return {
    ...term,
    ...defined({
      matchExpressions: expressions.length > 0 ? [...(term.matchExpressions ?? []), ...expressions] : undefined,
      matchFields: fields.length > 0 ? [...(term.matchFields ?? []), ...fields] : undefined,
    }),
  }
}

function missing(own: ReadonlySet<string>, wanted: readonly NodeSelectorRequirement[] = []): NodeSelectorRequirement[] {
  return wanted.filter((requirement) => !own.has(requirementKey(requirement)))
}
