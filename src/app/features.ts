/** Reports features that the API server lacks, once, when the caches are synced. */
import { missingFeatures, type ServerInfo } from '../core/server-features.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export interface FeaturesInput {
  readServerInfo: () => Promise<ServerInfo>
  /** Whether pods wait at a scheduling gate for their data. */
  usesGates: boolean
  log: Logger
  metrics: Pick<Metrics, 'missingFeatures'>
}

/** Reads the version of the API server. An error is logged: nothing else depends on it. */
export async function reportMissingFeatures({ readServerInfo, usesGates, log, metrics }: FeaturesInput): Promise<void> {
  try {
    const info = await readServerInfo()
    const missing = missingFeatures({ ...info, usesGates })
    for (const { feature, message } of missing) {
      metrics.missingFeatures.labels(feature).set(1)
      log.warn({ feature, version: info.version }, message)
    }
    if (missing.length === 0) log.info({ version: info.version }, 'the API server has all features')
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    log.warn({ reason }, 'features of the API server not checked')
  }
}
