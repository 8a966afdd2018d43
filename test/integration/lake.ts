/** A data system for tests of loops: the healthy Amoro, whose answers a test gives. */
import type { System } from '../../src/locality/locality.ts'

/** It is asked again every 10 minutes, and never retries, unless given otherwise. */
export function makeLake(locate: System['plugin']['locate'], more: Partial<System> = {}): System {
  return {
    health: { state: 'healthy' },
    refreshIntervalMs: 600_000,
    maxConcurrent: 16,
    retry: { maxRetries: 0, initialBackoffMs: 0, maxBackoffMs: 0, backoffMultiplier: 1, timeoutMs: 1_000 },
    clustersOf: ({ clusters = [] }) => [...clusters].sort(),
    whyNoCluster: ({ location }) => `no cluster for ${location}`,
    plugin: { system: 'amoro', locate, health: async () => undefined, close: async () => undefined },
    ...more,
  }
}
