/** Label and field selectors, matched as Kubernetes and Karmada match them. */
import type { Cluster } from '../api/karmada.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'

/** Whether the labels satisfy the selector; an absent or empty selector matches everything. An unknown operator matches nothing. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Record<string, string> = {}): boolean {
  if (selector === undefined) return true
  const { matchLabels = {}, matchExpressions = [] } = selector
  return (
    Object.entries(matchLabels).every(([key, value]) => Object.hasOwn(labels, key) && labels[key] === value) &&
    matchExpressions.every((requirement) =>
      satisfies(requirement, Object.hasOwn(labels, requirement.key) ? [labels[requirement.key] as string] : []),
    )
  )
}

/** Whether the cluster satisfies Karmada's field selector over provider, region and zone (util.ClusterMatches, pkg/util/selector.go). */
export function matchesFields(requirements: readonly LabelSelectorRequirement[], cluster: Cluster): boolean {
  return requirements.every((requirement) => satisfies(requirement, fieldValues(requirement.key, cluster)))
}

/** The values of a cluster's field: none, one, or (zones) several. */
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

function satisfies({ operator, values = [] }: LabelSelectorRequirement, actual: readonly string[]): boolean {
  switch (operator) {
    case 'In':
      return actual.some((value) => values.includes(value))
    case 'NotIn':
      return !actual.some((value) => values.includes(value))
    case 'Exists':
      return actual.length > 0
    case 'DoesNotExist':
      return actual.length === 0
    default:
      return false
  }
}
