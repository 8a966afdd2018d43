/** Matches label and field selectors as Kubernetes and Karmada do. */
import type { Cluster } from '../api/karmada.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
import { membership } from './json.ts'

type Labels = Record<string, string>

/** Whether the labels satisfy the selector; an absent or empty selector matches everything. An unknown operator matches nothing. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  return selector === undefined || labelMatcher(selector)(labels)
}

/** Compiles a selector for many look-ups. The cost of each is the number of requirements; the number of their values does not matter. */
export function labelMatcher({ matchLabels = {}, matchExpressions = [] }: LabelSelector): (labels: Labels) => boolean {
  const wanted = Object.entries(matchLabels)
  const expressions = matchExpressions.map(requirementMatcher)
  return (labels) =>
    wanted.every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    expressions.every(({ key, matches }) => matches(Object.hasOwn(labels, key) ? [labels[key] as string] : []))
}

/** Compiles Karmada's field selector over provider, region and zone (util.ClusterMatches, pkg/util/selector.go). */
export function fieldMatcher(requirements: readonly LabelSelectorRequirement[]): (cluster: Cluster) => boolean {
  const fields = requirements.map(requirementMatcher)
  return (cluster) => fields.every(({ key, matches }) => matches(fieldValues(key, cluster)))
}

/** Returns the values of a cluster's field: none, one, or (for zones) several. */
export function fieldValues(field: string, { spec }: Cluster): readonly string[] {
  switch (field) {
    case 'provider':
      return spec.provider ? [spec.provider] : []
    case 'region':
      return spec.region ? [spec.region] : []
    case 'zone':
      return spec.zones ?? []
    default:
      return []
  }
}

interface RequirementMatcher {
  key: string
  matches(actual: readonly string[]): boolean
}

function requirementMatcher({ key, operator, values = [] }: LabelSelectorRequirement): RequirementMatcher {
  const isListed = membership(values)
  switch (operator) {
    case 'In':
      return { key, matches: (actual) => actual.some(isListed) }
    case 'NotIn':
      return { key, matches: (actual) => !actual.some(isListed) }
    case 'Exists':
      return { key, matches: (actual) => actual.length > 0 }
    case 'DoesNotExist':
      return { key, matches: (actual) => actual.length === 0 }
    default:
      return { key, matches: () => false }
  }
}
