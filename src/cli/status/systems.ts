/** Reports data systems: from the configuration and from the DataSources. */
import type { DataSource } from '../../api/data-source.ts'
import { isTrue } from '../../core/conditions.ts'
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
  const problems = new Map(configured?.map(({ system, problem }) => [system, problem]))
  return [...new Set([...bySystem.keys(), ...problems.keys()])].map((name) => {
    const its = bySystem.get(name) ?? []
    const problem = problems.get(name)
    const isConfigured = configured === undefined || problems.has(name)
    return {
      name,
      sources: its.length,
      staleSources: its.filter(({ status }) => isTrue(status?.conditions, 'Stale')).length,
      ...(problem
        ? { health: 'InvalidConfiguration', message: problem }
        : isConfigured
          ? healthOf(its)
          : { health: 'NotConfigured' }),
    }
  })
}

function healthOf(sources: readonly DataSource[]): Pick<SystemReport, 'health' | 'message' | 'since'> {
  for (const { status } of sources) {
    const unhealthy = status?.conditions?.find((one) => one.type === 'SystemHealthy' && one.status === 'False')
    if (unhealthy) return { health: 'Unhealthy', message: unhealthy.message, since: unhealthy.lastTransitionTime }
  }
  const isQueried = sources.some(({ status }) => status?.lastResolvedTime !== undefined)
  return { health: isQueried ? 'Healthy' : 'NeverQueried' }
}
