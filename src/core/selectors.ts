/** Matches label and field selectors as Kubernetes and Karmada do. */
import type { Cluster } from '../api/karmada.ts'
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
import { membership } from './json.ts'
import type { KarmadaRules } from './karmada-rules.ts'
import { isLabelKey, isLabelValue } from './names.ts'

type Labels = Record<string, string>

/** Whether the labels satisfy the selector; an absent or empty selector matches everything. An invalid one matches nothing. */
export function matchesLabels(selector: LabelSelector | undefined, labels: Labels = {}): boolean {
  return selector === undefined || labelMatcher(selector)(labels)
}

/**
 * Compiles a selector for many look-ups. The cost of each is the number of requirements; the number of their values does not matter. A
 * selector that Kubernetes rejects matches nothing (apimachinery, metav1.LabelSelectorAsSelector).
 */
export function labelMatcher({ matchLabels = {}, matchExpressions = [] }: LabelSelector): (labels: Labels) => boolean {
  if (!matchExpressions.every(isValidRequirement)) return () => false
  const wanted = Object.keys(matchLabels)
  const expressions = matchExpressions.map(requirementMatcher)
  // The members may be many, and are checked only if an object has all of them.
  let isValid: boolean | undefined
  const areValid = () => {
    isValid ??= wanted.every((key) => isLabelKey(key) && isLabelValue(matchLabels[key] as string))
    return isValid
  }
  return (labels) =>
    wanted.every((key) => Object.hasOwn(labels, key) && labels[key] === matchLabels[key]) &&
    areValid() &&
    expressions.every(({ key, matches }) => matches(Object.hasOwn(labels, key) ? [labels[key] as string] : []))
}

/**
 * Compiles Karmada's field selector over provider, region and zone (util.ClusterMatches, pkg/util/selector.go). An invalid requirement matches
 * nothing; requirements on zones are always valid (matchZones).
 */
export function fieldMatcher(
  requirements: readonly LabelSelectorRequirement[],
  { zoneInMatchesAny }: Pick<KarmadaRules, 'zoneInMatchesAny'>,
): (cluster: Cluster) => boolean {
  if (!requirements.every((requirement) => requirement.key === ZONE || isValidRequirement(requirement)))
    return () => false
  const fields = requirements.map((requirement) => {
    const { key, operator, values = [] } = requirement
    return key === ZONE && operator === 'In' && !zoneInMatchesAny
      ? { key, matches: everyIn(values) }
      : requirementMatcher(requirement)
  })
  return (cluster) => fields.every(({ key, matches }) => matches(fieldValues(key, cluster)))
}

const ZONE = 'zone'

/** Whether a cluster has zones, and all of them are listed: the rule for `In` before Karmada 1.18. */
function everyIn(values: readonly string[]): RequirementMatcher['matches'] {
  const isListed = membership(values)
  return (actual) => actual.length > 0 && actual.every(isListed)
}

/** Returns the values of a cluster's field: none, one, or (for zones) several. */
export function fieldValues(field: string, { spec }: Cluster): readonly string[] {
  switch (field) {
    case 'provider':
      return spec.provider ? [spec.provider] : []
    case 'region':
      return spec.region ? [spec.region] : []
    case ZONE:
      return spec.zones ?? []
    default:
      return []
  }
}

interface RequirementMatcher {
  key: string
  matches(actual: readonly string[]): boolean
}

/** Whether Kubernetes accepts a requirement (apimachinery, labels.NewRequirement): `In` needs values, `Exists` has none, and so on. */
function isValidRequirement({ key, operator, values = [] }: LabelSelectorRequirement): boolean {
  const needsValues = operator === 'In' || operator === 'NotIn'
  return isLabelKey(key) && needsValues === values.length > 0 && values.every(isLabelValue)
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
