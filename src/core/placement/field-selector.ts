/** Matches Karmada's field selectors over the fields of a cluster. */
import type { Cluster } from '../../api/karmada.ts'
import type { LabelSelectorRequirement } from '../../api/meta.ts'
import { membership } from '../../base/json.ts'
import { isValidRequirement, type RequirementMatcher, requirementMatcher } from '../../base/selectors.ts'
import type { KarmadaRules } from '../karmada-rules.ts'

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
