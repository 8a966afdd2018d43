/** The metrics of the admission server: what is open and in memory, and what it turned away. */
import { Counter, Gauge, type Registry } from 'prom-client'

/** What an admission server has in hand. */
export interface ServerFigures {
  /** Complete requests that wait for their decision. */
  inFlight: number
  /** Bytes of bodies and answers. */
  bytes: number
  connections: number
}

/** Why a request was turned away: too many at once, too many bytes of unfinished ones, or too many connections. */
type ShedReason = 'in-flight' | 'bytes' | 'connections'

export interface ServerMetrics {
  /** The gauges ask when they are read, instead of being told twice a request. */
  observeServer(read: () => ServerFigures): void
  shed: { labels(reason: ShedReason): { inc(): void } }
}

export function openServerMetrics(registers: Registry[]): ServerMetrics {
  let figures: () => ServerFigures = () => ({ inFlight: 0, bytes: 0, connections: 0 })
  const gauge = (name: string, help: string, key: keyof ServerFigures) =>
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(figures()[key])
      },
    })
  gauge('controller_runtime_webhook_requests_in_flight', 'Complete requests that wait for their decision', 'inFlight')
  gauge('lodestone_bytes_in_flight', 'Bytes of request bodies and answers in memory', 'bytes')
  gauge('lodestone_connections', 'Open connections of the admission server', 'connections')
  return {
    observeServer(read) {
      figures = read
    },
    shed: new Counter({
      name: 'lodestone_requests_shed_total',
      help: 'Requests and connections that were turned away at a limit',
      labelNames: ['reason'],
      registers,
    }),
  }
}
