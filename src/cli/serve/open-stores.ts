/** Opens the stores of `serve`, and the other ways to its API server. */
import type { AppInput, Connections } from '../../app/app.ts'
import { isDispatcher } from '../../app/config/config.ts'
import { configuredWorkloadKinds } from '../../app/config/workload-kinds-config.ts'
import { observeStore } from '../../app/monitoring/observe.ts'
import type { RequestObserver } from '../../store/cluster/api-connection.ts'
import { openClusterStore } from '../../store/cluster/cluster.ts'
import { openConnection } from '../../store/cluster/connection.ts'
import { openPodLogs } from '../../store/cluster/pod-log.ts'
import { openServerInfo } from '../../store/cluster/server-info.ts'
import { openWebhookProbe } from '../../store/cluster/webhook-probe.ts'
import { allKinds, kindsFor } from '../../store/kinds/cached-kinds.ts'
import { kueueKinds, multiKueueKinds } from '../../store/kinds/kueue.ts'
import type { Arguments, CommandIo } from '../command.ts'
import { openFolder } from '../open-folder.ts'
import { openHostConnection, selectConnection } from '../options/connect.ts'

/** The rate of Events, so that a fleet that is resolved at once does not flood the API server. */
const EVENTS_PER_SECOND = 20

/**
 * Opens the served store, and the stores of the Lease and of Events. In a pod the Lease is in the cluster of the pod. Each store has its own
 * write limit: the Lease must not wait for the loops, nor the loops for Events.
 */
export async function openStores(
  args: Arguments,
  io: CommandIo,
  { config, log, metrics }: Pick<AppInput, 'config' | 'log' | 'metrics'>,
): Promise<Connections> {
  const observer = observeStore(log, metrics)
  const folder = args.text('folder')
  if (folder !== undefined) {
    const workloads = configuredWorkloadKinds(config)
    const kinds = [
      ...allKinds(workloads),
      ...(config.kueue.enabled ? kueueKinds : []),
      ...(isDispatcher(config) ? multiKueueKinds : []),
    ]
    const store = openFolder(folder, { observer, workloads, kinds })
    return { store }
  }
  const { writesPerSecond } = config.loops
  const source = selectConnection(args, io, { usesHome: false })
  const observeRequest: RequestObserver = ({ code, method, host }) =>
    metrics.apiRequests.labels(code, method, host).inc()
  const connection = await openConnection(source, observeRequest)
  const host = (await openHostConnection(source, io, observeRequest)) ?? connection
  return {
    store: openClusterStore({
      connection,
      kinds: kindsFor({
        workloads: configuredWorkloadKinds(config),
        dependencies: config.dependencies.distribution !== 'none',
        movesData: config.volumes.enabled,
        kueue: config.kueue.enabled && config.loops.enabled,
        multiKueue: isDispatcher(config) && config.loops.enabled,
      }),
      observer,
      writesPerSecond,
      burst: 2 * writesPerSecond,
    }),
    leaseStore: openClusterStore({ connection: host, kinds: [] }),
    hasLeaseElsewhere: host !== connection,
    eventStore: openClusterStore({ connection, kinds: [], writesPerSecond: EVENTS_PER_SECOND }),
    podLogs: openPodLogs(connection),
    probeWebhooks: openWebhookProbe(connection),
    readServerInfo: openServerInfo(connection),
    readCredentials: connection.credentialsLifetime,
    sourceProblem: connection.sourceProblem,
  }
}
