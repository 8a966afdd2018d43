// Runs a real Prometheus that scrapes processes on loopback and evaluates the alerts of the chart, with shortened durations.
import { globSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { request } from 'undici'
import { parse, stringify } from 'yaml'
import { shortenDuration, shortenRules } from '../alerts/short-rules.ts'
import { ensurePrometheus } from './binaries.ts'
import { eventually } from './poll.ts'
import { freePorts, startProcess } from './processes.ts'

// One second stands for a minute, but no wait or window of a rule is shorter than 30 s. Lodestone, its Lease and the ages in metrics have the
// real time: the leader of a busy machine may lose its Lease for some seconds.
const SHORTENING = { factor: 60, shortestMs: 30_000 }
const INTERVAL = '1s'

export interface Target {
  // A URL of a health server.
  healthUrl: string
  namespace: string
}

export interface Series {
  metric: Record<string, string>
  values: [seconds: number, value: string][]
}

export interface Alert {
  labels: Record<string, string>
  annotations: Record<string, string>
  state: 'pending' | 'firing'
}

export interface PrometheusServer {
  // The alerts that are pending or firing now.
  alerts(): Promise<Alert[]>
  // The names of the alerts that fired at a time since `startMs` (since the epoch), sorted. `selector` selects by labels.
  firedSince(startMs: number, selector?: string): Promise<string[]>
  // The values of an expression from `startMs` (since the epoch) until now. Series without a number are left out.
  range(expression: string, startMs: number): Promise<Series[]>
  // The values of a label, in series that `selector` selects.
  labelValues(label: string, selector: string): Promise<string[]>
  stop(): Promise<void>
}

// `dir` is a folder for configuration, data and log.
export async function startPrometheus(dir: string, targets: Target[]): Promise<PrometheusServer> {
  const { prometheus } = await ensurePrometheus()
  const folder = join(dir, 'metrics')
  await mkdir(folder)
  for (const file of globSync('charts/lodestone/files/alerts/*.yaml')) {
    const rules = shortenRules(parse(await readFile(file, 'utf8')), SHORTENING)
    await writeFile(join(folder, `rules-${basename(file)}`), stringify(rules))
  }
  const config = {
    global: { scrape_interval: INTERVAL, scrape_timeout: INTERVAL, evaluation_interval: INTERVAL },
    rule_files: [join(folder, 'rules-*.yaml')],
    scrape_configs: [
      {
        job_name: 'lodestone',
        static_configs: targets.map(({ healthUrl, namespace }) => ({
          targets: [new URL(healthUrl).host],
          labels: { namespace },
        })),
      },
    ],
  }
  const configFile = join(folder, 'prometheus.yaml')
  await writeFile(configFile, stringify(config))
  const [port] = await freePorts(1)
  const url = `http://127.0.0.1:${port}`
  const running = await startProcess({
    name: 'prometheus',
    command: prometheus,
    args: [
      `--config.file=${configFile}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      `--query.lookback-delta=${shortenDuration('5m', SHORTENING)}`,
    ],
    cwd: folder,
    env: { HOME: folder },
    logFile: join(dir, 'prometheus.log'),
    ready: async () => (await request(`${url}/-/ready`)).statusCode === 200,
  })

  async function ask<T>(path: string, parameters: Record<string, string> = {}): Promise<T> {
    const { body } = await request(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`)
    const answer = (await body.json()) as { status: string; error?: string; data: T }
    if (answer.status !== 'success') throw new Error(`${path} ${JSON.stringify(parameters)}: ${answer.error}`)
    return answer.data
  }
  const server: PrometheusServer = {
    alerts: async () => (await ask<{ alerts: Alert[] }>('alerts')).alerts,
    firedSince: async (startMs, selector = '') => {
      const seconds = Math.ceil((Date.now() - startMs) / 1000)
      const expression = `group by (alertname) (max_over_time(ALERTS{${['alertstate="firing"', selector].join()}}[${seconds}s]))`
      const { result } = await ask<{ result: { metric: { alertname: string } }[] }>('query', { query: expression })
      return result.map(({ metric }) => metric.alertname).sort()
    },
    range: async (expression, startMs) => {
      const times = { start: String(startMs / 1000), end: String(Date.now() / 1000), step: '1' }
      const { result } = await ask<{ result: Series[] }>('query_range', { query: expression, ...times })
      return result.filter(({ values }) => values.some(([, value]) => value !== 'NaN'))
    },
    labelValues: (label, selector) => ask(`label/${label}/values`, { 'match[]': selector }),
    stop: () => running.stop(),
  }
  await eventually('all targets are scraped', async () => {
    const up = await server.range('up == 1', Date.now())
    return up.length === targets.length
  })
  return server
}
