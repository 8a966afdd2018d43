/** Waits until the API server is seen to call our webhooks. Before that, a write of a loop could make Karmada undo a narrowing. */
import { backoffMs, spreadInterval } from '../base/time/backoff.ts'
import { type Clock, sleep, systemClock } from '../base/time/clock.ts'
import type { WebhookProbe } from '../store/cluster/webhook-probe.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'

export interface WebhookGateInput {
  probe: WebhookProbe
  log: Logger
  metrics: Pick<Metrics, 'webhooksSeen' | 'webhookProbes'>
  signal: AbortSignal
  /** Default: the clock of the system. */
  clock?: Clock
}

/** A registration is in effect after a fraction of a second. */
const BACKOFF = { firstMs: 100, lastMs: 10_000 }

/** Sends probes until one is answered. Resolves to false when `signal` aborts; never rejects. Each new reason is logged once. */
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
