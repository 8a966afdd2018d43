/** The settings of decisions that a command makes in memory, from the configuration of the server. */
import type { Config } from '../app/config/config.ts'
import { placementTiming } from '../app/config/placement-config.ts'
import { configuredTransferMatrix } from '../app/config/transfer-costs-config.ts'
import { configuredWorkloadKinds } from '../app/config/workload-kinds-config.ts'
import { allExcludedNamespaces } from '../app/registration.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import type { ReviewSettings } from './check/review/review-object.ts'

/** Returns the settings of reviews at `now`, in ms since the epoch: those by which the server with this configuration decides. */
export function decisionSettings(config: Config, karmadaRules: KarmadaRules, now: number): ReviewSettings {
  const { claims, dependencies, placement, volumes } = config
  return {
    now,
    karmadaRules,
    workloads: configuredWorkloadKinds(config),
    propagateDeps: dependencies.propagate,
    clusterScopedClaims: claims.clusterScoped,
    timing: placementTiming(placement),
    matrix: configuredTransferMatrix(config),
    whenNotReady: volumes.whenNotReady,
    volumeLimits: volumes,
    excludedNamespaces: allExcludedNamespaces(config),
  }
}
