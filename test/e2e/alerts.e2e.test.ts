/** Evaluates the alerts with promtool: each fires on its series, and none on similar ones. Parses the queries of the dashboard. */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { promtoolTests } from '../alerts/cases.ts'
import { ALL_REPLICAS, panelQueries } from '../alerts/dashboard-queries.ts'
import { ensurePrometheus } from './binaries.ts'
import { buildTimeoutMs } from './go-build.ts'

const TIMEOUT_MS = 300_000

const run = promisify(execFile)
const folder = mkdtempSync(join(tmpdir(), 'lodestone-alerts-'))
const ruleFile = (name: string) => resolve(`charts/lodestone/files/alerts/${name}.yaml`)
const rules = { causes: ruleFile('causes'), objectives: ruleFile('objectives') }
let promtool = ''

beforeAll(async () => {
  promtool = (await ensurePrometheus()).promtool
}, buildTimeoutMs)
afterAll(() => rmSync(folder, { recursive: true }))

function writeFile(name: string, content: object): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify(content))
  return file
}

test(
  'every rule is valid',
  async () => {
    const { stdout } = await run(promtool, ['check', 'rules', '--lint=all', '--lint-fatal', ...Object.values(rules)])
    expect(stdout).toContain('SUCCESS')
  },
  TIMEOUT_MS,
)

test(
  'each of 23 alerts fires on its series alone, and is silent on others',
  async () => {
    const files = promtoolTests(rules).map((tests, i) => writeFile(`tests-${i}.yaml`, tests))
    const { stdout } = await run(promtool, ['test', 'rules', ...files], { maxBuffer: 16 * 1024 * 1024 })
    expect(stdout.match(/SUCCESS/g)).toHaveLength(files.length)
  },
  TIMEOUT_MS,
)

test(
  'Prometheus parses every query of the dashboard',
  async () => {
    const dashboard = JSON.parse(readFileSync('charts/lodestone/dashboards/lodestone.json', 'utf8'))
    const queries = panelQueries(dashboard, ALL_REPLICAS).map(({ expr }, i) => ({ record: `query:${i}`, expr }))
    const file = writeFile('queries.yaml', { groups: [{ name: 'dashboard', rules: queries }] })

    const { stdout } = await run(promtool, ['check', 'rules', '--lint=none', file])

    expect(stdout).toContain(`${queries.length} rules found`)
  },
  TIMEOUT_MS,
)
