/** Gauges of claims, holds, sources and volumes. Their source is called once for each scrape. */
import type { Gauge, Registry } from 'prom-client'
import { openMetricFactory } from './metric-factory.ts'

/** A count and the age of the oldest one in seconds, 0 without any. */
export interface CountWithAge {
  count: number
  oldestSeconds: number
}

export interface DomainMetrics {
  /** Claims by phase. */
  claims: Record<string, number>
  /** Holds by reason. */
  holds: Record<string, CountWithAge & { overdue: number }>
  /** Seconds since the least recently confirmed location of each system was confirmed. */
  sourceAges: Record<string, number>
  /** Replicas of volumes by state. */
  replicas: Record<string, number>
  /** Work that waits for a slot of a mover, by task. */
  moverQueue: Record<string, CountWithAge>
  writeBackConflicts: number
}

export function openDomainMetrics(registry: Registry) {
  const { gauge } = openMetricFactory(registry)
  let read: () => DomainMetrics | undefined = () => undefined
  /** The gauges collect in the order of their registration, without a wait between them: the first one sets all. */
  const claims = gauge('lodestone_claims', () => {
    const domain = read()
    if (!domain) return
    setAll(claims, domain.claims, (count) => count)
    setAll(holds, domain.holds, ({ count }) => count)
    setAll(oldestHolds, domain.holds, ({ oldestSeconds }) => oldestSeconds)
    setAll(overdueHolds, domain.holds, ({ overdue }) => overdue)
    setAll(sourceAges, domain.sourceAges, (age) => age)
    setAll(replicas, domain.replicas, (count) => count)
    setAll(queueLengths, domain.moverQueue, ({ count }) => count)
    setAll(queueAges, domain.moverQueue, ({ oldestSeconds }) => oldestSeconds)
    conflicts.set(domain.writeBackConflicts)
  })
  const holds = gauge('lodestone_holds')
  const oldestHolds = gauge('lodestone_oldest_hold_seconds')
  const overdueHolds = gauge('lodestone_holds_overdue')
  const sourceAges = gauge('lodestone_source_age_seconds')
  const replicas = gauge('lodestone_replicas')
  const queueLengths = gauge('lodestone_mover_queue_length')
  const queueAges = gauge('lodestone_mover_queue_oldest_seconds')
  const conflicts = gauge('lodestone_write_back_conflicts')
  return {
    /** Sets the source of these metrics. */
    observeDomain(source: () => DomainMetrics) {
      read = source
    },
  }
}

/** Sets a gauge with one label, and removes the values of other labels. */
function setAll<Value>(
  gauge: Gauge<string>,
  values: Readonly<Record<string, Value>>,
  numberOf: (value: Value) => number,
): void {
  gauge.reset()
  for (const [label, value] of Object.entries(values)) gauge.labels(label).set(numberOf(value))
}
