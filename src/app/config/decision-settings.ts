/** The settings of decisions on bindings, from the configuration. */
import type { DecisionSettings } from '../../core/resource-binding/decision-settings.ts'
import type { Config } from './config.ts'
import { placementTiming } from './placement-config.ts'
import { configuredTransferMatrix } from './transfer-costs-config.ts'
import { configuredWorkloadKinds } from './workload-kinds-config.ts'

/** Returns the settings by which a server with this configuration decides. */
export function configuredDecisions(config: Config): DecisionSettings {
  return {
    clusterScopedClaims: config.claims.clusterScoped,
    timing: placementTiming(config.placement),
    kinds: configuredWorkloadKinds(config),
    matrix: configuredTransferMatrix(config),
  }
}
