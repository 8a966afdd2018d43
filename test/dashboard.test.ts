/** The dashboard shows each subject, and only what the server measures. test/e2e/alerts.e2e.test.ts parses its queries with Prometheus. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { ALL_REPLICAS, type Dashboard, panelQueries } from './alerts/dashboard-queries.ts'

const dashboard: Dashboard = JSON.parse(readFileSync('charts/lodestone/dashboards/lodestone.json', 'utf8'))
const queries = panelQueries(dashboard, ALL_REPLICAS).map(({ expr }) => expr)

test('each dashboard query reads listed metrics of the selected namespace and instance', () => {
  const metrics: Record<string, { type: string; labels?: readonly string[] }> = METRICS
  const read = queries.flatMap((query) => [...query.matchAll(/\b([a-z]\w+_\w+)\{([^}]*)\}/g)])

  expect(read.length).toBeGreaterThan(30)
  for (const [, name = '', selector = ''] of read) {
    const metric = metrics[name] ?? metrics[name.replace(/_(bucket|count)$/, '')]
    expect(metric, name).toBeDefined()
    const labels = [...selector.matchAll(/(\w+)=~?"/g)].map(([, label]) => label)
    expect(labels).toEqual(expect.arrayContaining(['namespace', 'instance']))
    expect(['namespace', 'instance', ...(metric?.labels ?? [])]).toEqual(expect.arrayContaining(labels))
  }
})

test('the dashboard has rows by subject, and variables for namespace and instance', () => {
  const titles = dashboard.panels.filter(({ targets }) => targets === undefined).map(({ title }) => title)

  expect(titles).toEqual([
    'Admission',
    'Claims and holds',
    'Data systems',
    'Dependencies',
    'Volumes',
    'Leader and registration',
    'API server and loops',
  ])
  expect(dashboard.templating.list.map(({ name }) => name)).toEqual(['datasource', 'namespace', 'instance'])
})
