/** Reports features that the API server lacks, each once. */
import { type MissingFeature, missingFeatures, type ServerInfo } from '../core/server-features.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export interface FeaturesInput {
  readServerInfo: () => Promise<ServerInfo>
  /** Whether pods wait at a scheduling gate for their data. */
  usesGates: boolean
  log: Logger
  metrics: Pick<Metrics, 'missingFeatures'>
}

/**
 * Returns a function that reads the version of the API server, and reports what changed since its last call: the server may be upgraded. An
 * error is logged, once: nothing else depends on it.
 */
export function openFeatureReport({ readServerInfo, usesGates, log, metrics }: FeaturesInput): () => Promise<void> {
  let reported: string | undefined
  let failure: string | undefined

  function report({ version }: ServerInfo, missing: readonly MissingFeature[]): void {
    const state = [version, ...missing.map(({ feature }) => feature)].join()
    if (state === reported) return
    reported = state
    metrics.missingFeatures.reset()
    for (const { feature, message } of missing) {
      metrics.missingFeatures.labels(feature).set(1)
      log.warn({ feature, version }, message)
    }
    if (missing.length === 0) log.info({ version }, 'the API server has all features')
  }

  return async () => {
    try {
      const info = await readServerInfo()
      report(info, missingFeatures({ ...info, usesGates }))
      failure = undefined
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      if (reason !== failure) log.warn({ reason }, 'features of the API server not checked')
      failure = reason
    }
  }
}
