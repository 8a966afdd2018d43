/** Runs the loops while this replica is the leader, after the API server is seen to call our webhooks. */
import { clusters } from '../api/karmada.ts'
import { kueueWorkloads } from '../api/kueue.ts'
import { resourceWord } from '../api/meta.ts'
import { defined } from '../base/json.ts'
import { backoffMs, spreadInterval } from '../base/time/backoff.ts'
import { aborted, type Clock, sleep, systemClock } from '../base/time/clock.ts'
import type { WallClock } from '../base/time/wall-clock.ts'
import type { VolumeSettings } from '../core/volume-manager/rules/settings.ts'
import { openSystems } from '../locality/systems.ts'
import { startController } from '../reconcile/controller.ts'
import { openEventRecorder } from '../reconcile/event-recorder.ts'
import { openLoops } from '../reconcile/index.ts'
import { openMoverLogs } from '../reconcile/volumes/mover-logs.ts'
import type { WebhookProbe } from '../store/cluster/webhook-probe.ts'
import { guardWrites } from '../store/guarded-store.ts'
import type { ObjectStore, PodLogReader } from '../store/store.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { type Config, isDispatcher } from './config/config.ts'
import { configuredDecisions } from './config/decision-settings.ts'
import type { LiveConfig } from './config/live-config.ts'
import { systemsSource } from './config/systems-config.ts'
import { type LeadershipState, startElection } from './election.ts'
import type { KarmadaVersion } from './karmada.ts'
import type { Leadership } from './leader.ts'
import { openDomainMetrics } from './monitoring/domain-metrics.ts'
import { openFailureLog } from './monitoring/failure-log.ts'
import { startNarrowingClock } from './monitoring/narrowing-clock.ts'
import { observeEvents, observeLoops, observeMoverLogs, observeSystems } from './monitoring/observe.ts'
import { volumesWarning } from './monitoring/readiness.ts'

export interface LoopsInput {
  config: Config
  karmada: KarmadaVersion
  /** The configuration with the changes at run time. */
  live: LiveConfig
  store: ObjectStore
  /** The store of the Lease; its writes must not wait behind those of the loops. */
  leaseStore: ObjectStore
  /** Receives whether this replica is the leader. */
  leadership: LeadershipState
  /** The store of Events; its writes must not wait behind those of the loops. */
  eventStore: ObjectStore
  /** Reads logs of pods; absent if pods have no logs. */
  podLogs?: PodLogReader | undefined
  /** Sends a probe of the webhooks; absent if no API server calls them, as for a folder. */
  probeWebhooks?: WebhookProbe | undefined
  log: Logger
  metrics: Metrics
  wallClock: WallClock
}

/** Kueue may be installed later: the loops begin then. */
const KUEUE_ABSENT = `kueue.enabled is set, but the API server does not serve ${resourceWord(kueueWorkloads)} in ${kueueWorkloads.version}; install Kueue 0.15 or newer`

/** Starts the configured loops on a synced store. Returns a function that stops them. */
export async function startLoops({
  config,
  karmada,
  live,
  store,
  leaseStore,
  eventStore,
  leadership,
  podLogs,
  probeWebhooks,
  log,
  metrics,
  wallClock,
}: LoopsInput): Promise<() => Promise<void>> {
  const { now, jumps } = wallClock
  const decisions = configuredDecisions(config)
  const systems = await openSystems(
    defined({
      source: systemsSource(config.systems, store),
      clusters: () => [...store.list(clusters)],
      observer: observeSystems(log, metrics),
    }),
  )
  const logFailure = openFailureLog(log, now)
  const domainMetrics = openDomainMetrics({ ...decisions, store, karmadaRules: karmada.rules, now })
  metrics.observeDomain(domainMetrics.read)
  /** The namespace of the Lease is that of Lodestone. */
  function volumeSettings(): VolumeSettings {
    const { volumes } = live.current()
    return { ...volumes, movers: { ...volumes.movers, ownNamespace: config.leaderElection.namespace } }
  }
  async function run(signal: AbortSignal, leader?: Leadership): Promise<void> {
    const whileLeader = (written: ObjectStore) => (leader ? guardWrites(written, () => leader.check()) : written)
    const events = openEventRecorder({
      store: whileLeader(eventStore),
      now,
      observer: observeEvents(logFailure, metrics),
    })
    const moverLogs = openMoverLogs({ read: podLogs, observer: observeMoverLogs(log) })
    const controller = startController({
      // Each new leader waits again: the registration may have changed while there was none.
      webhooksSeen: probeWebhooks && untilWebhooksSeen({ probe: probeWebhooks, log, metrics, signal }),
      loops: openLoops({
        ...config.dependencies,
        // Also if VolumeManagers are not served: their kind may be installed later, and until then the loops are idle.
        volumes: config.volumes.enabled ? volumeSettings : undefined,
        moverLogs,
        kueue: config.kueue.enabled,
        nominationRoundMs: isDispatcher(config) ? config.kueue.multiKueue.roundSeconds * 1000 : undefined,
      }),
      store: whileLeader(store),
      events,
      systems,
      ...decisions,
      karmadaRules: karmada.rules,
      now,
      jumps,
      maxMovesPerMinute: config.loops.maxMovesPerMinute,
      driftIntervalMs: config.loops.driftIntervalSeconds * 1000,
      observer: observeLoops(log, metrics, logFailure),
    })
    // A new configuration may free a slot, a node or a budget for waiting keys. New rules may allow other clusters.
    const unsubscribe = [live, karmada].map((source) => source.subscribe(() => controller.enqueueAll()))
    const stopNarrowingClock = startNarrowingClock({
      store,
      ...decisions,
      karmadaRules: karmada.rules,
      now,
      observe: (seconds) => metrics.narrowingSeconds.observe(seconds),
    })
    if (config.kueue.enabled && !store.serves(kueueWorkloads)) log.warn({ kind: kueueWorkloads.kind }, KUEUE_ABSENT)
    const withoutController = volumesWarning(config, store)
    if (withoutController) log.warn(withoutController)
    metrics.observeQueues(() => controller.queueStates())
    metrics.leaderStatus.labels(config.leaderElection.name).set(1)
    log.info('loops started')
    await aborted(signal)
    for (const end of [...unsubscribe, stopNarrowingClock]) end()
    await controller.stop()
    await moverLogs.stop()
    await events.stop()
    metrics.leaderStatus.labels(config.leaderElection.name).set(0)
    metrics.webhooksSeen.set(0)
    log.info('loops stopped')
  }
  const stopElection = startElection({
    config,
    leaseStore,
    state: leadership,
    work: run,
    onError: (error) => logFailure(error, 'leader election failed'),
    log,
    now,
  })
  return async () => {
    await stopElection()
    domainMetrics.stop()
    await systems.stop()
  }
}

interface WebhookGateInput {
  probe: WebhookProbe
  log: Logger
  metrics: Pick<Metrics, 'webhooksSeen' | 'webhookProbes'>
  signal: AbortSignal
  /** Default: the clock of the system. */
  clock?: Clock
}

/** A registration is in effect after a fraction of a second. */
const BACKOFF = { firstMs: 100, lastMs: 10_000 }

/**
 * Sends probes until one is answered: before that, a write of a loop could make Karmada undo a narrowing. Resolves to false when `signal`
 * aborts; never rejects. Each new reason is logged once.
 */
export async function untilWebhooksSeen({
  probe,
  log,
  metrics,
  signal,
  clock = systemClock,
}: WebhookGateInput): Promise<boolean> {
  let logged: string | undefined
  metrics.webhooksSeen.set(0)
  for (let probes = 1; !signal.aborted; probes++) {
    const answer = await probe(signal).catch((error: unknown) => ({ result: 'unseen' as const, reason: String(error) }))
    if (signal.aborted) break
    metrics.webhookProbes.labels(answer.result).inc()
    if (answer.result !== 'unseen') {
      metrics.webhooksSeen.set(1)
      if (answer.result === 'seen') log.info({ probes }, 'the API server calls the webhooks')
      return true
    }
    // The first probe may come before the registration.
    if (probes > 1 && answer.reason !== logged) {
      logged = answer.reason
      log.warn({ reason: answer.reason }, 'loops wait until the API server calls the webhooks')
    }
    await sleep(clock, spreadInterval(backoffMs(BACKOFF, probes), clock.random()), signal)
  }
  return false
}
