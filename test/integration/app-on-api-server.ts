/** The whole application on an API server in memory, until the test is over. */
import { onTestFinished } from 'vitest'
import { events } from '../../src/api/event.ts'
import { roleBindings } from '../../src/api/rbac.ts'
import { type App, startApp } from '../../src/app/app.ts'
import { type Config, DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import type { AnyCachedKind } from '../../src/store/any-kind.ts'
import { connectToFake } from '../../src/store/cluster/api-connection.fake.ts'
import type { FakeApiServer } from '../../src/store/cluster/api-server.fake.ts'
import { type ClusterStore, openClusterStore } from '../../src/store/cluster/cluster.ts'
import { type LogLine, recordLog } from '../../src/telemetry/logger.fake.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { LOOPBACK } from './loopback.ts'

/** An application that runs once `start` has resolved. */
export interface AppOnApiServer {
  server: FakeApiServer
  store: ClusterStore
  /** Log lines of level `warn` and above so far. */
  lines: LogLine[]
  start(): Promise<App>
}

/** Opens a server that serves `kinds` and what the loops write. `config` replaces defaults. */
export async function openAppOnApiServer(
  kinds: readonly AnyCachedKind[],
  config: Partial<Config> = {},
): Promise<AppOnApiServer> {
  const directory = temporaryFolder()
  const types = [...kinds.map(({ type }) => type), roleBindings, events]
  const { server, connection } = await connectToFake(types)
  const store = openClusterStore({ connection, kinds, unservedRetryMs: 10 })
  const { log, lines } = recordLog('warn')
  let app: App | undefined
  onTestFinished(async () => app?.stop())
  return {
    server,
    store,
    lines,
    async start() {
      app = await startApp({
        config: {
          ...DEFAULT_CONFIG,
          leaderElection: { ...DEFAULT_CONFIG.leaderElection, enabled: false },
          ...config,
          server: { ...DEFAULT_CONFIG.server, ...LOOPBACK },
          certificates: { ...DEFAULT_CONFIG.certificates, directory },
        },
        store,
        log,
        metrics: openMetrics(),
        now: Date.now,
      })
      await app.ready
      return app
    },
  }
}
