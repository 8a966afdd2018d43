/** The alerts: each has a case for its tests, a runbook, a severity, and metrics that Lodestone serves. */
import { globSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { METRICS } from '../src/telemetry/metric-table.ts'
import { ALERT_CASES } from './alerts/cases.ts'
import { blocksOf } from './shell-blocks.ts'

interface Rule {
  alert?: string
  record?: string
  expr: string
  labels?: Record<string, string>
  annotations?: Record<string, string>
}

const rules = globSync('charts/lodestone/files/alerts/*.yaml').flatMap((file) =>
  (parse(readFileSync(file, 'utf8')).groups as { rules: Rule[] }[]).flatMap((group) => group.rules),
)
const alerts = rules.filter(({ alert }) => alert !== undefined)
const page = readFileSync('docs/guides/alerts.md', 'utf8')
const sectionOf = (alert: string) => page.split(/^## /m).find((section) => section.startsWith(`${alert}\n`))

test('each alert has series with which it fires, and others with which it does not', () => {
  expect(ALERT_CASES.map(({ alert }) => alert).sort()).toEqual(alerts.map(({ alert }) => alert).sort())
})

test.each(alerts)('$alert has a severity, a summary and a runbook', ({ alert = '', labels, annotations }) => {
  expect(labels?.['severity']).toMatch(/^(critical|warning)$/)
  expect(annotations?.['summary']).toBeTruthy()
  expect(annotations?.['runbook_url']).toBe(`docs/guides/alerts.md#${alert.toLowerCase()}`)
  for (const part of ['**Symptom**: ', '**Cause**: ', '**Remedy**: ', '```sh\n']) {
    expect(sectionOf(alert)).toContain(part)
  }
})

const sources = globSync('src/**/*.ts')
  .filter((file) => !/\.(test|fake|suite)\.ts$/.test(file))
  .map((file) => readFileSync(file, 'utf8'))
const sought = blocksOf('docs/guides/alerts.md').flatMap(({ section, commands }) =>
  commands.flatMap((command) => {
    const [, patterns = ''] = /\| grep (.*)$/.exec(command) ?? []
    const words = [...patterns.matchAll(/'([^']+)'|(?<!-)\b(\w+)\b/g)].map(([, quoted, word]) => quoted ?? word)
    const [, reason] = /reason=(\w+)/.exec(command) ?? []
    return [...words.filter((word) => word !== 'e'), reason].flatMap((text) => (text ? [{ section, text }] : []))
  }),
)

test.each(sought)('$section looks for $text, which Lodestone writes', ({ text }) => {
  expect(sources.some((source) => source.includes(text))).toBe(true)
})

const commands = blocksOf('docs/guides/alerts.md').flatMap((block) => block.commands)

// kubectl reads one pod of a Deployment, which may not be the leader, and ten lines of each pod of a selector.
test('the sections read the whole logs of all replicas', () => {
  const logs = commands.filter((command) => / logs /.test(command))
  expect(logs.length).toBeGreaterThan(5)
  expect(logs.filter((command) => !command.includes(' logs -l app.kubernetes.io/name=lodestone --tail=-1 '))).toEqual(
    [],
  )
})

test('the sections read Events of a namespace, whatever the context of kubectl is', () => {
  const events = commands.filter((command) => command.includes(' get events '))
  expect(events.length).toBeGreaterThan(3)
  expect(events.filter((command) => !/ (-A|-n default) /.test(command))).toEqual([])
})

test('docs/guides/alerts.md has no section of an alert that does not exist', () => {
  const sections = [...page.matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
  expect(sections.sort()).toEqual(alerts.map(({ alert }) => alert).sort())
})

const RECORDED = /lodestone:\w+:\w+/g

test.each(rules)('$alert$record reads only metrics and labels that exist', ({ expr }) => {
  const metrics: Record<string, { type: string; labels?: readonly string[] }> = METRICS
  for (const [, name = '', selector = ''] of expr
    .replaceAll(RECORDED, '')
    .matchAll(/\b((?:lodestone|controller_runtime|workqueue|leader_election|rest_client)_\w+)(?:\{([^}]*)\})?/g)) {
    const metric = metrics[name] ?? metrics[name.replace(/_(bucket|count|sum)$/, '')]
    expect(metric, name).toBeDefined()
    const labels = [...selector.matchAll(/(\w+)\s*[=!]~?/g)].map(([, label]) => label ?? '')
    expect([...(metric?.labels ?? []), 'le']).toEqual(expect.arrayContaining(labels))
  }
  const recorded = rules.map(({ record }) => record)
  expect(recorded).toEqual(expect.arrayContaining([...(expr.match(RECORDED) ?? [])]))
})
