/** Metrics of the admission server: load, and requests rejected at a limit. */
import { Counter, Gauge, type Registry } from 'prom-client'

/** The load of an admission server. */
export interface ServerLoad {
  /** Complete requests that wait for their decision. */
  inFlight: number
  /** Bytes of bodies and answers. */
  bytes: number
  connections: number
}

/** The limit at which a request was rejected. */
type ShedReason = 'in-flight' | 'bytes' | 'connections'

export interface ServerMetrics {
  /** Sets the source of the gauges, which is called at each scrape. */
  observeServer(read: () => ServerLoad): void
  shed: { labels(reason: ShedReason): { inc(): void } }
}

export function openServerMetrics(registers: Registry[]): ServerMetrics {
  let load: () => ServerLoad = () => ({ inFlight: 0, bytes: 0, connections: 0 })
  const gauge = (name: string, help: string, key: keyof ServerLoad) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(load()[key])
      },
    })
  gauge('controller_runtime_webhook_requests_in_flight', 'Complete requests that wait for their decision', 'inFlight')
  gauge('lodestone_bytes_in_flight', 'Bytes of request bodies and answers in memory', 'bytes')
  gauge('lodestone_connections', 'Open connections of the admission server', 'connections')
  return {
    observeServer(read) {
      load = read
    },
    shed: new Counter({
      name: 'lodestone_requests_shed_total',
      help: 'Requests and connections rejected at a limit, by limit',
      labelNames: ['reason'],
      registers,
    }),
  }
}
