/** Metrics of webhook calls: number, status, decision and duration. */
import { Counter, Histogram, type Registry } from 'prom-client'

/** A call with a response. */
export interface CountedCall {
  status: number
  /** Absent when nothing was decided, as for a malformed request. */
  decision?: string | undefined
  seconds: number
}

/** Returns a function that counts the calls of a webhook. */
export type CallCounter = (webhook: string) => (call: CountedCall) => void

export function openCallMetrics(registers: Registry[]): CallCounter {
  const requests = new Counter({
    name: 'controller_runtime_webhook_requests_total',
    help: 'Admission requests by HTTP status code',
    labelNames: ['webhook', 'code'],
    registers,
  })
  const latency = new Histogram({
    name: 'controller_runtime_webhook_latency_seconds',
    help: 'Time from the whole body to the answer',
    labelNames: ['webhook'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1],
    registers,
  })
  const decisions = new Counter({
    name: 'lodestone_decisions_total',
    help: 'Decisions by result',
    labelNames: ['webhook', 'result'],
    registers,
  })
  return (webhook) => {
    const latencies = latency.labels(webhook)
    const requestsWith = remember((status: number) => requests.labels(webhook, String(status)))
    const decisionsFor = remember((result: string) => decisions.labels(webhook, result))
    return ({ status, decision, seconds }) => {
      requestsWith(status).inc()
      if (decision !== undefined) decisionsFor(decision).inc()
      latencies.observe(seconds)
    }
  }
}

/** Caches the counter of each label, because the lookup costs more than the count. */
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
