/** Opens one data system: observes the queries of its plugin, and checks its health in the background. */
import type { Cluster } from '../api/karmada.ts'
import { defined, sortedUnique } from '../base/json.ts'
import { backoffMs, equalJitter, spreadInterval } from '../base/time/backoff.ts'
import { type Clock, sleep } from '../base/time/clock.ts'
import { isTransient } from '../core/data-source/error-code.ts'
import { backoffBoundsOf, type RetryPolicy } from '../core/data-source/retry.ts'
import { providerOfHost } from '../s3/server.ts'
import { checkLocated, isPrintable } from './answers/check.ts'
import { type ClusterRules, clustersOfLocation, describeLocation, whyNoCluster } from './answers/clusters.ts'
import { indexLocations } from './answers/location-index.ts'
import type { SystemConfig, SystemDefinition } from './config/config.ts'
import {
  type LocalityAnswer,
  LocalityError,
  type LocalityPlugin,
  type LocalityQuery,
  type System,
  type SystemHealth,
} from './locality.ts'
import type { SystemsObserver } from './observer.ts'
import { openRulesVersion } from './rules-version.ts'

export interface OpenSystem extends System {
  /** Ends the checks and closes the plugin after the running queries. */
  close(): Promise<void>
}

export interface OpenSystemInput {
  config: SystemConfig
  definition: SystemDefinition
  clusters: () => readonly Cluster[]
  observer: SystemsObserver
  clock: Clock
  /** Called after the first check, and when the system becomes unhealthy or healthy. */
  healthChanged(): void
}

const HEALTH_INTERVAL_MS = 30_000

/** Opens a system and begins its health checks. Throws when a file of its configuration cannot be read. */
export function openSystem(input: OpenSystemInput): OpenSystem {
  const { config, clock, observer } = input
  const inner = input.definition.open(config, clock)
  const rules = clusterRules(config)
  const { locationMapping, locationMatching, regionMapping } = config
  const version = openRulesVersion([locationMapping, locationMatching, regionMapping, rules.region, rules.provider])
  const stopping = new AbortController()
  let health: SystemHealth = { state: 'unknown' }
  const checks = check()

  async function check(): Promise<void> {
    while (!stopping.signal.aborted) {
      const before = health.state
      // A healthy system is checked with retries, so that one lost connection does not make it unhealthy.
      const policy = before === 'unhealthy' ? { ...config.retry, maxRetries: 0 } : config.retry
      const attempt = (signal: AbortSignal) => withRetries(policy, clock, signal, () => inner.health(signal))
      health = await checkOnce(inner.system, attempt, { clock, observer, signal: stopping.signal })
      // The first result counts too: the status of sources may have that of an earlier process.
      if (health.state !== before && !stopping.signal.aborted) input.healthChanged()
      await sleep(clock, spreadInterval(HEALTH_INTERVAL_MS, clock.random()), stopping.signal)
    }
  }

  return {
    plugin: observed(inner, () => version(input.clusters()), { clock, observer }),
    refreshIntervalMs: config.refreshIntervalMs,
    maxConcurrent: config.maxConcurrent,
    retry: config.retry,
    get health() {
      return health
    },
    clustersOf: (answer) => {
      if (answer.clusters !== undefined) return sortedUnique(answer.clusters)
      return [...clustersOfLocation(answer.location, rules, input.clusters())]
    },
    whyNoCluster: ({ location, clusters }) => {
      if (clusters === undefined) return whyNoCluster(location, rules, config.system)
      return `system ${config.system} lists no cluster for location ${describeLocation(location)}; add its clusters`
    },
    close: async () => {
      stopping.abort()
      await checks
      await inner.close()
    },
  }
}

function clusterRules(config: SystemConfig): ClusterRules {
  const { locationMapping, locationMatching, regionMapping, extra, plugin, endpoint } = config
  const { region, provider } = extra as { region?: string; provider?: string }
  const hosts = plugin === 's3' ? endpoint.urls.map((url) => new URL(url).hostname) : []
  const owner = provider ?? hosts.map(providerOfHost).find((one) => one !== undefined)
  return defined({
    locations: indexLocations(locationMapping, locationMatching),
    regionMapping,
    region,
    provider: owner,
  })
}

async function checkOnce(
  system: string,
  check: (signal: AbortSignal) => Promise<void>,
  { clock, observer, signal }: { clock: Clock; observer: SystemsObserver; signal: AbortSignal },
): Promise<SystemHealth> {
  const startedAt = clock.now()
  try {
    await check(signal)
    observer.health({ system, healthy: true, durationMs: clock.now() - startedAt })
    return { state: 'healthy', checkedAt: clock.epochMs() }
  } catch (error) {
    if (signal.aborted) return { state: 'unknown' }
    // Any other error is a bug of the plugin. Then the system counts as unhealthy.
    const code = error instanceof LocalityError ? error.code : 'invalidResponse'
    const message = error instanceof LocalityError ? error.message : String(error)
    observer.health({ system, healthy: false, durationMs: clock.now() - startedAt, code, message })
    return { state: 'unhealthy', checkedAt: clock.epochMs(), error: { code, message } }
  }
}

/** Wraps the plugin: reports every query to the observer, and adds a version of the cluster rules to ETags. */
function observed(
  plugin: LocalityPlugin,
  rules: () => string,
  { clock, observer }: { clock: Clock; observer: SystemsObserver },
): LocalityPlugin {
  const { system } = plugin
  return {
    system,
    health: (signal) => plugin.health(signal),
    close: () => plugin.close(),
    locate: async (query, signal) => {
      const startedAt = clock.now()
      const report = (result: Parameters<SystemsObserver['located']>[0]['result']) =>
        observer.located({ system, result, durationMs: clock.now() - startedAt })
      try {
        const version = rules()
        checkQuery(query)
        const answer = checkAnswer(system, await plugin.locate(withoutOldVersion(query, version), signal))
        report(answer.kind)
        if (answer.kind !== 'located' || answer.etag === undefined) return answer
        return { ...answer, etag: `${version}:${answer.etag}` }
      } catch (error) {
        if (error instanceof LocalityError) report(error.code)
        throw error
      }
    },
  }
}

/** Rejects names with control characters, which a URL cannot contain. */
function checkQuery({ type, name, attributes }: LocalityQuery): void {
  if ([type, name, ...Object.entries(attributes).flat()].every(isPrintable)) return
  throw new LocalityError('rejected', 'the name or an attribute has control characters; edit the claim')
}

function checkAnswer(system: string, answer: LocalityAnswer): LocalityAnswer {
  const checked = answer.kind === 'located' ? checkLocated(answer) : answer
  if (checked !== undefined) return checked
  throw new LocalityError(
    'invalidResponse',
    `${system}: the location is longer than 4096 characters, or has control characters`,
  )
}

/** Removes an ETag of other cluster rules: after a change of the rules, "unchanged" would keep outdated clusters. */
function withoutOldVersion({ etag, ...query }: LocalityQuery, version: string): LocalityQuery {
  return etag?.startsWith(`${version}:`) ? { ...query, etag: etag.slice(version.length + 1) } : query
}

/**
 * Repeats a health check until it succeeds, fails with an error that cannot pass, or has no retries left. Throws the last error, or the
 * reason of the signal. The loop of sources retries queries, because it waits without a slot.
 */
export async function withRetries<T>(
  policy: RetryPolicy,
  clock: Clock,
  signal: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  for (let failures = 0; ; failures++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      signal.throwIfAborted()
      const pauseMs = pauseAfter(error, failures, policy, clock)
      if (pauseMs === undefined) throw error
      await sleep(clock, pauseMs, signal)
    }
  }
}

/** The delay before the next attempt; undefined when there is none, or when Retry-After is longer than the longest back-off. */
function pauseAfter(error: unknown, failures: number, policy: RetryPolicy, clock: Clock): number | undefined {
  if (failures >= policy.maxRetries || !(error instanceof LocalityError) || !isTransient(error.code)) return undefined
  const askedMs = error.retryAfterMs ?? 0
  if (askedMs > policy.maxBackoffMs) return undefined
  return Math.max(askedMs, equalJitter(backoffMs(backoffBoundsOf(policy), failures + 1), clock.random()))
}
