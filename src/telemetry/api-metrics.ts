/** Metrics of the API server: the kinds that it does not serve, and whether it calls the webhooks. */
import { Counter, Gauge, type Registry } from 'prom-client'

export interface ApiMetrics {
  /** Sets the source of `lodestone_kind_unavailable`, which is called at each scrape. */
  observeUnavailable(read: () => Iterable<{ kind: string; reason: string }>): void
  webhooksSeen: Gauge
  webhookProbes: Counter<'result'>
}

export function openApiMetrics(registers: Registry[]): ApiMetrics {
  let readUnavailable: () => Iterable<{ kind: string; reason: string }> = () => []
  new Gauge({
    name: 'lodestone_kind_unavailable',
    help: 'Kinds that cannot be read now: 1 each; their last known objects stay in use',
    labelNames: ['kind', 'reason'],
    registers,
    collect() {
      this.reset()
      for (const { kind, reason } of readUnavailable()) this.labels(kind, reason).set(1)
    },
  })
  return {
    observeUnavailable(read) {
      readUnavailable = read
    },
    webhooksSeen: new Gauge({
      name: 'lodestone_webhooks_seen',
      help: 'Whether the API server was seen to call the webhooks since this replica became the leader: 1 or 0',
      registers,
    }),
    webhookProbes: new Counter({
      name: 'lodestone_webhook_probes_total',
      help: 'Probes of the webhooks, by result',
      labelNames: ['result'],
      registers,
    }),
  }
}
