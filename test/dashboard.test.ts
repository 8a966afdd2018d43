/** The dashboard shows only what the server measures. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openMetrics } from '../src/telemetry/metrics.ts'

test('every metric of the dashboard is one that Lodestone has', async () => {
  const dashboard = JSON.parse(readFileSync('charts/lodestone/dashboards/lodestone.json', 'utf8'))
  const { registry } = openMetrics()
  const known = new Set((await registry.getMetricsAsJSON()).map(({ name }) => name))

  const asked = dashboard.panels.flatMap(({ targets }: { targets: { expr: string }[] }) =>
    targets.flatMap(({ expr }) => expr.match(/\b(lodestone|controller_runtime|workqueue)_[a-z_]+/g) ?? []),
  ) as string[]

  expect(asked.length).toBeGreaterThan(10)
  for (const name of asked) expect(known, name).toContain(name.replace(/_(bucket|count|sum)$/, ''))
})
