/** The table of data systems of `lodestone status`: from the configuration and from the DataSources. */
import type { DataSource } from '../../api/data-source.ts'
import { isTrue } from '../../core/conditions.ts'
import type { InspectedSystem } from '../../locality/config/inspect.ts'
import { byFirst, formatAge } from '../format.ts'

/**
 * Returns a row for each system that is configured or has sources. The health comes from the conditions of sources, because another process
 * checks the systems.
 *
 * @param configured the systems of the configuration; undefined if the command was started without one
 */
export function systemRows(
  sources: readonly DataSource[],
  configured: readonly InspectedSystem[] | undefined,
  now: number,
): string[][] {
  const bySystem = Map.groupBy(sources, ({ spec }) => spec.system)
  const problems = new Map(configured?.map(({ system, problem }) => [system, problem]))
  return [...new Set([...bySystem.keys(), ...problems.keys()])]
    .map((system) => {
      const its = bySystem.get(system) ?? []
      const stale = its.filter(({ status }) => isTrue(status?.conditions, 'Stale')).length
      const problem = problems.get(system)
      const isConfigured = configured === undefined || problems.has(system)
      const health = problem
        ? `invalid configuration: ${problem}`
        : isConfigured
          ? healthOf(its, now)
          : 'not configured'
      return [system, String(its.length), String(stale), health]
    })
    .sort(byFirst)
}

function healthOf(sources: readonly DataSource[], now: number): string {
  const conditions = sources.flatMap(({ status }) => status?.conditions ?? [])
  const unhealthy = conditions.find(({ type, status }) => type === 'SystemHealthy' && status === 'False')
  if (unhealthy) {
    return `unhealthy for ${formatAge(now - Date.parse(unhealthy.lastTransitionTime))}: ${unhealthy.message}`
  }
  return sources.some(({ status }) => status?.lastResolvedTime !== undefined) ? 'healthy' : 'never queried'
}
