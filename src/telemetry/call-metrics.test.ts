import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { openCallMetrics } from './call-metrics.ts'

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
