// Runs the sections of docs/guides/alerts.md while their alerts fire.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { findBlock } from '../shell-blocks.ts'
import type { ControlPlane } from './control-plane.ts'
import type { Lodestone } from './lodestone.ts'
import { logToStderr } from './log.ts'
import { runScript } from './page-block.ts'
import type { PrometheusServer } from './prometheus-server.ts'

/** A fault of an installation. */
export interface Fault {
  name: string
  /** Causes it, and returns what ends it. */
  plant(): Promise<() => Promise<unknown>>
  /** The alerts that fire. */
  fires: string[]
}

export interface Section {
  plane: ControlPlane
  alert: string
  /** In ms since the epoch: the time from which the logs are read. */
  since: number
  lodestones: Lodestone[]
  /** Texts that differ in the test. */
  replaced?: Record<string, string>
}

/**
 * Runs the commands of the alert's section, and returns those that fail or show nothing. The replicas are no pods, so their logs since the
 * fault are in a file here.
 */
export async function runSection({ plane, alert, since, lodestones, replaced = {} }: Section): Promise<string[]> {
  const startedAt = performance.now()
  const lines = (await Promise.all(lodestones.map((lodestone) => lodestone.readLog()))).join('').split('\n')
  const isSince = (line: string) => Date.parse(/"time":"([^"]+)"/.exec(line)?.[1] ?? '') >= since
  const logs = join(plane.dir, 'logs-since-the-fault')
  await writeFile(logs, lines.filter(isSince).join('\n'))
  const read = 'kubectl -n lodestone-system logs -l app.kubernetes.io/name=lodestone --tail=-1 --since=15m'
  const texts = { [read]: `cat ${logs}`, ...replaced }
  const silent: string[] = []
  for (const command of findBlock(['docs/guides/alerts.md', '', alert]).commands) {
    const shown = await runScript(plane, command, texts).catch(String)
    if (shown === '' || shown.startsWith('Error: ')) silent.push(`${alert}: ${command}: ${shown}`)
  }
  logToStderr(`section ${alert}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return silent
}

/** How long an alert may take to fire: longer than the longest wait of a rule, on a busy machine. */
export const ALERT_MS = 300_000

export interface Installation extends Omit<Section, 'alert' | 'since'> {
  prometheus: PrometheusServer
}

/**
 * Causes a fault, runs the section of each of its alerts while the alert fires, and ends the fault. Returns the commands that fail or show
 * nothing.
 */
export async function runSectionsOf(
  { name, plant, fires }: Fault,
  { prometheus, ...installation }: Installation,
): Promise<string[]> {
  const { plane } = installation
  const since = Date.now()
  const repair = await plant()
  const silent: string[] = []
  try {
    for (const alert of fires) {
      await plane.eventually(`${alert} fires: ${name}`, () => isFiring(prometheus, alert), ALERT_MS)
      logToStderr(`${alert} fires after ${Math.round((Date.now() - since) / 1000)} s: ${name}`)
      silent.push(...(await runSection({ ...installation, alert, since })))
    }
  } finally {
    await repair()
  }
  return silent
}

async function isFiring(prometheus: PrometheusServer, alert: string): Promise<boolean> {
  const alerts = await prometheus.alerts()
  return alerts.some(({ state, labels }) => state === 'firing' && labels['alertname'] === alert)
}
