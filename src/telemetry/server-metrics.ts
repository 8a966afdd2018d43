/** Metrics of the admission server: load, and requests rejected at a limit. */
import type { Registry } from 'prom-client'
import { openMetricFactory } from './metric-factory.ts'

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

/** In bytes. Nearly all reviews are smaller, and should be answered within 10 ms. */
const SMALL_BODY_BYTES = 64 * 1024

export function openServerMetrics(registry: Registry) {
  const { counter, gauge, histogram } = openMetricFactory(registry)
  let load: () => ServerLoad = () => ({ inFlight: 0, bytes: 0, connections: 0 })
  gauge('controller_runtime_webhook_requests_in_flight', (requests) => requests.set(load().inFlight))
  gauge('lodestone_bytes_in_flight', (bytes) => bytes.set(load().bytes))
  gauge('lodestone_connections', (connections) => connections.set(load().connections))
  const durations = histogram('lodestone_review_duration_seconds')
  const [small, large] = [durations.labels('small'), durations.labels('large')]
  const shed: { labels(reason: ShedReason): { inc(): void } } = counter('lodestone_requests_shed_total')
  return {
    /** Sets the source of the gauges, which is called at each scrape. */
    observeServer(read: () => ServerLoad) {
      load = read
    },
    /** Counts an answered review, by the size of its body in bytes and the time since its body was complete. */
    countReview(bytes: number, ms: number) {
      const durationsOfSize = bytes <= SMALL_BODY_BYTES ? small : large
      durationsOfSize.observe(ms / 1000)
    },
    shed,
  }
}
