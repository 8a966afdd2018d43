/** Matches label selectors as Kubernetes does. */
import type { LabelSelector, LabelSelectorRequirement } from '../api/meta.ts'
import { memberNames, membership } from './json.ts'
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
  const wanted = memberNames(matchLabels)
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

/** A requirement, compiled for many look-ups. */
export interface RequirementMatcher {
  key: string
  matches(actual: readonly string[]): boolean
}

/** Whether Kubernetes accepts a requirement (apimachinery, labels.NewRequirement): `In` needs values, `Exists` has none, and so on. */
export function isValidRequirement({ key, operator, values = [] }: LabelSelectorRequirement): boolean {
  const needsValues = operator === 'In' || operator === 'NotIn'
  return isLabelKey(key) && needsValues === values.length > 0 && values.every(isLabelValue)
}

/** Compiles a requirement. An unknown operator matches nothing. */
export function requirementMatcher({ key, operator, values = [] }: LabelSelectorRequirement): RequirementMatcher {
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
