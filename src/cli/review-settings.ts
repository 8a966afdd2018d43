/** The settings of reviews that a command makes in memory, from the configuration of the server. */
import type { Config } from '../app/config/config.ts'
import { configuredDecisions } from '../app/config/decision-settings.ts'
import { allExcludedNamespaces } from '../app/registration.ts'
import type { KarmadaRules } from '../core/karmada-rules.ts'
import type { ReviewSettings } from './check/review/review-object.ts'

/** Returns the settings of reviews at `now`, in ms since the epoch: those by which the server with this configuration decides. */
export function reviewSettings(config: Config, karmadaRules: KarmadaRules, now: number): ReviewSettings {
  const { dependencies, volumes } = config
  const { kinds, ...decisions } = configuredDecisions(config)
  return {
    ...decisions,
    now,
    karmadaRules,
    workloads: kinds,
    propagateDeps: dependencies.propagate,
    whenNotReady: volumes.whenNotReady,
    volumeLimits: volumes,
    // As on a hub whose loops run.
    loopsEnabled: true,
    excludedNamespaces: allExcludedNamespaces(config),
  }
}
