/**
 * Renames the groups of an affinity. Karmada's scheduler begins with the group that it chose last, which it finds by its name, and never goes
 * back to an earlier one. If no group has that name, it begins with the first (v1.16.0 to v1.18.1, pkg/scheduler/helper.go,
 * getAffinityIndex).
 */
import { MAX_AFFINITY_NAME_LENGTH, type PlacementAffinity } from '../../api/karmada.ts'

/** Renames all groups for a round: `<name>.<round>`, with at most 32 characters. Round 0 has the names of the policy. */
export function nameGroups(affinity: PlacementAffinity, round: number): PlacementAffinity {
  const { clusterAffinities } = affinity
  if (!clusterAffinities || round === 0) return affinity
  const taken = new Set<string>()
  return {
    clusterAffinities: clusterAffinities.map((group) => {
      const affinityName = freeName(group.affinityName, `.${round}`, taken)
      taken.add(affinityName)
      return { ...group, affinityName }
    }),
  }
}

/** Takes the round from the names of all groups, so that `nameGroups` gives the same names again. Without it in each name, the affinity is the same. */
export function withoutRound(affinity: PlacementAffinity, round: number): PlacementAffinity {
  const { clusterAffinities } = affinity
  const suffix = `.${round}`
  if (round === 0 || !clusterAffinities?.every(({ affinityName }) => affinityName.endsWith(suffix))) return affinity
  return {
    clusterAffinities: clusterAffinities.map((group) => ({
      ...group,
      affinityName: group.affinityName.slice(0, -suffix.length),
    })),
  }
}

/** Returns the name with the suffix. If a long name that was cut is taken already, a number precedes the suffix. */
function freeName(name: string, suffix: string, taken: ReadonlySet<string>): string {
  for (let i = 1; ; i++) {
    const end = i === 1 ? suffix : `-${i}${suffix}`
    const candidate = `${name.slice(0, MAX_AFFINITY_NAME_LENGTH - end.length)}${end}`
    if (!taken.has(candidate)) return candidate
  }
}

/** Whether the scheduler would skip the first group of an affinity, since it chose a later one. */
export function skipsFirstGroup(
  { clusterAffinities = [] }: PlacementAffinity,
  observedGroup: string | undefined,
): boolean {
  return clusterAffinities.findIndex(({ affinityName }) => affinityName === observedGroup) > 0
}
