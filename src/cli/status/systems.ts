/** Reports data systems: from the configuration and from the DataSources. */
import type { DataSource } from '../../api/data-source.ts'
import { isTrue } from '../../base/conditions.ts'
import { defined } from '../../base/json.ts'
import { indexLocations, unmatchedKeys } from '../../locality/answers/location-index.ts'
import type { InspectedSystem } from '../../locality/config/inspect.ts'
import type { SystemReport } from './report.ts'

/**
 * Reports each system that is configured or has sources. The health comes from the conditions of sources, because another process checks
 * the systems.
 *
 * @param configured the systems of the configuration; undefined if the command was started without one
 */
export function reportSystems(
  sources: readonly DataSource[],
  configured: readonly InspectedSystem[] | undefined,
): SystemReport[] {
  const bySystem = Map.groupBy(sources, ({ spec }) => spec.system)
  const inspected = new Map(configured?.map((one) => [one.system, one]))
  const isKnown = configured !== undefined && !configured.some(({ isSource }) => isSource)
  return [...new Set([...bySystem.keys(), ...inspected.keys()])].map((name) => {
    const its = bySystem.get(name) ?? []
    const { problem, config } = inspected.get(name) ?? {}
    const isConfigured = !isKnown || inspected.has(name)
    const warnings = config === undefined ? [] : locationWarnings(config, its)
    return {
      name,
      sources: its.length,
      staleSources: its.filter(({ status }) => isTrue(status?.conditions, 'Stale')).length,
      ...(problem
        ? { health: 'InvalidConfiguration', message: problem }
        : isConfigured
          ? systemHealth(its)
          : { health: 'NotConfigured' }),
      ...defined({ warnings: warnings.length > 0 ? warnings : undefined }),
    }
  })
}

/** The unmatched keys that are listed. */
const MAX_KEYS = 10

/** Without a location, no key can have matched yet. */
function locationWarnings(
  { warnings, locationMapping, locationMatching }: NonNullable<InspectedSystem['config']>,
  sources: readonly DataSource[],
): string[] {
  const locations = sources.flatMap(({ spec }) => spec.locality?.location ?? [])
  const index = indexLocations(locationMapping, locationMatching)
  const keys = locations.length === 0 ? [] : unmatchedKeys(locationMapping, index, locations)
  return [
    ...warnings.map(({ path, message }) => `${path}: ${message}`),
    ...keys
      .slice(0, MAX_KEYS)
      .map((key) => `locationMapping[${key}]: matches no location of a DataSource; correct or remove the key`),
    ...(keys.length > MAX_KEYS ? [`locationMapping: and ${keys.length - MAX_KEYS} more keys match no location`] : []),
  ]
}

function systemHealth(sources: readonly DataSource[]): Pick<SystemReport, 'health' | 'message' | 'since'> {
  for (const { status } of sources) {
    const unhealthy = status?.conditions?.find((one) => one.type === 'SystemHealthy' && one.status === 'False')
    if (unhealthy) return { health: 'Unhealthy', message: unhealthy.message, since: unhealthy.lastTransitionTime }
  }
  const isQueried = sources.some(({ status }) => status?.lastResolvedTime !== undefined)
  return { health: isQueried ? 'Healthy' : 'NeverQueried' }
}
