/** Metrics of webhook calls: number, status, decision and duration. */
import type { Registry } from 'prom-client'
import { openMetricFactory } from './metric-factory.ts'

/** A call with a response. */
export interface CountedCall {
  status: number
  /** Absent when nothing was decided, as for a malformed request. */
  decision?: string | undefined
  seconds: number
}

/** Returns a function that counts the calls of a webhook. */
export type CallCounter = (webhook: string) => (call: CountedCall) => void

export function openCallMetrics(registry: Registry): CallCounter {
  const { counter, histogram } = openMetricFactory(registry)
  const requests = counter('controller_runtime_webhook_requests_total')
  const latency = histogram('controller_runtime_webhook_latency_seconds')
  const decisions = counter('lodestone_decisions_total')
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
