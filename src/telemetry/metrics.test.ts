import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { METRICS, THREAD_METRICS } from './metric-table.ts'
import { openCallMetrics, openMetrics } from './metrics.ts'

const served = async () => (await openMetrics().registry.getMetricsAsJSON()).map(({ name }) => name)

test('every metric of the table is served, and no other one of ours', async () => {
  const ours = (await served()).filter((name) => !/^(process|nodejs)_/.test(name))

  expect([...ours, ...THREAD_METRICS].sort()).toEqual(Object.keys(METRICS).sort())
})

test.each(Object.entries(METRICS))('%s has the unit of its name, and few labels', (name, metric) => {
  expect(name.endsWith('_total')).toBe(metric.type === 'counter')
  expect(metric.type === 'histogram' && !name.endsWith('_seconds')).toBe(false)
  expect('labels' in metric ? metric.labels.length : 0).toBeLessThanOrEqual(3)
})

test('the state of a queue is served, with its times in seconds', async () => {
  const metrics = openMetrics()
  metrics.observeQueues(() => [{ loop: 'pod', depth: 3, oldestMs: 1500, longestRunMs: 20 }])

  const text = await metrics.registry.metrics()

  expect(text).toContain('workqueue_depth{name="pod"} 3')
  expect(text).toContain('lodestone_queue_oldest_seconds{name="pod"} 1.5')
  expect(text).toContain('workqueue_longest_running_processor_seconds{name="pod"} 0.02')
})

test('a scrape reads claims, holds and volumes once, and serves all of them', async () => {
  const metrics = openMetrics()
  let reads = 0
  metrics.observeDomain(() => {
    reads++
    return {
      claims: { Bound: 4 },
      holds: { Unresolved: { count: 2, oldestSeconds: 30, overdue: 1 } },
      sourceAges: { lake: 12 },
      replicas: { Ready: 5 },
      moverQueue: { download: { count: 3, oldestSeconds: 7 } },
      writeBackConflicts: 1,
    }
  })

  const text = await metrics.registry.metrics()

  expect(reads).toBe(1)
  for (const line of [
    'lodestone_claims{phase="Bound"} 4',
    'lodestone_holds{reason="Unresolved"} 2',
    'lodestone_oldest_hold_seconds{reason="Unresolved"} 30',
    'lodestone_holds_overdue{reason="Unresolved"} 1',
    'lodestone_source_age_seconds{system="lake"} 12',
    'lodestone_replicas{state="Ready"} 5',
    'lodestone_mover_queue_length{task="download"} 3',
    'lodestone_mover_queue_oldest_seconds{task="download"} 7',
    'lodestone_write_back_conflicts 1',
  ]) {
    expect(text.split('\n')).toContain(line)
  }
})

test.each([
  { bytes: 64 * 1024, size: 'small' },
  { bytes: 64 * 1024 + 1, size: 'large' },
])('a review of $bytes bytes counts as $size', async ({ bytes, size }) => {
  const metrics = openMetrics()

  metrics.countReview(bytes, 9)

  const text = await metrics.registry.metrics()
  expect(text).toContain(`lodestone_review_duration_seconds_bucket{le="0.01",size="${size}"} 1`)
  expect(text).toContain(`lodestone_review_duration_seconds_bucket{le="0.005",size="${size}"} 0`)
})

const samples = async (registry: Registry) =>
  (await registry.metrics()).split('\n').filter((line) => line !== '' && !line.startsWith('#'))

test('every call is in the metrics immediately', async () => {
  const registry = new Registry()
  const count = openCallMetrics(registry)('resource-binding')

  count({ status: 200, decision: 'Narrowed', seconds: 0.0002 })
  const after = await samples(registry)
  for (let i = 0; i < 300; i++) count({ status: 200, decision: 'OnHold', seconds: 0.002 })
  count({ status: 400, seconds: 0.00001 })

  expect(after).toContain('controller_runtime_webhook_requests_total{webhook="resource-binding",code="200"} 1')
  expect(await samples(registry)).toEqual(
    expect.arrayContaining([
      'controller_runtime_webhook_requests_total{webhook="resource-binding",code="200"} 301',
      'controller_runtime_webhook_requests_total{webhook="resource-binding",code="400"} 1',
      'lodestone_decisions_total{webhook="resource-binding",result="Narrowed"} 1',
      'lodestone_decisions_total{webhook="resource-binding",result="OnHold"} 300',
      'controller_runtime_webhook_latency_seconds_bucket{le="0.0001",webhook="resource-binding"} 1',
      'controller_runtime_webhook_latency_seconds_bucket{le="0.00025",webhook="resource-binding"} 2',
      'controller_runtime_webhook_latency_seconds_count{webhook="resource-binding"} 302',
    ]),
  )
})

test('each webhook has its own counts', async () => {
  const registry = new Registry()
  const countCalls = openCallMetrics(registry)

  countCalls('resource-binding')({ status: 200, decision: 'Narrowed', seconds: 0.001 })
  countCalls('pod')({ status: 500, seconds: 0.001 })

  expect(await samples(registry)).toEqual(
    expect.arrayContaining([
      'controller_runtime_webhook_requests_total{webhook="resource-binding",code="200"} 1',
      'controller_runtime_webhook_requests_total{webhook="pod",code="500"} 1',
    ]),
  )
})
