/** Metrics of calls: count, status and duration. */
import { Counter, Histogram, type Registry } from 'prom-client'

/** An answered call. */
export interface CountedCall {
  status: number
  /** The decision; absent if there was none. */
  decision?: string | undefined
  seconds: number
}

/** Returns a function that counts the calls of a webhook. Counting is deferred until the metrics are read. */
export type CallCounter = (webhook: string) => (call: CountedCall) => void

/** Most deferred calls. */
const CALLS_AT_ONCE = 256

/** Opens the metrics of calls. They are counted in batches, not while a caller waits (docs/adr/0011). */
export function openCallMetrics(registers: Registry[]): CallCounter {
  const waiting: (CountedCall & { count: (call: CountedCall) => void })[] = []
  function countWaiting(): void {
    for (const call of waiting.splice(0)) call.count(call)
  }
  const requests = new Counter({
    name: 'controller_runtime_webhook_requests_total',
    help: 'Admission requests by HTTP status code',
    labelNames: ['webhook', 'code'],
    registers,
    collect: countWaiting,
  })
  const latency = new Histogram({
    name: 'controller_runtime_webhook_latency_seconds',
    help: 'Time from the complete body to the answer',
    labelNames: ['webhook'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers,
    collect: countWaiting,
  })
  const decisions = new Counter({
    name: 'lodestone_decisions_total',
    help: 'Decisions by result',
    labelNames: ['webhook', 'result'],
    registers,
    collect: countWaiting,
  })
  return (webhook) => {
    const latencies = latency.labels(webhook)
    const requestsWith = remember((status: number) => requests.labels(webhook, String(status)))
    const decisionsFor = remember((result: string) => decisions.labels(webhook, result))
    const count = ({ status, decision, seconds }: CountedCall) => {
      requestsWith(status).inc()
      if (decision !== undefined) decisionsFor(decision).inc()
      latencies.observe(seconds)
    }
    return ({ status, decision, seconds }) => {
      waiting.push({ status, decision, seconds, count })
      if (waiting.length >= CALLS_AT_ONCE) countWaiting()
    }
  }
}

/** Finding a counter by its labels costs more than counting; each is looked up once. */
function remember<Label, T>(find: (label: Label) => T): (label: Label) => T {
  const found = new Map<Label, T>()
  return (label) => {
    let known = found.get(label)
    if (known === undefined) {
      known = find(label)
      found.set(label, known)
    }
    return known
  }
}
