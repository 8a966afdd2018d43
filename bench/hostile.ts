/**
 * `npm run bench:hostile`: CPU time of the most expensive bodies and stored objects, beside `JSON.parse` of the same text. CPU time of the
 * thread is measured, so that a busy machine changes little. Exits with 1 if a limit is exceeded. `--only` selects rows by a part of the name.
 */

import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { serveWebhook } from '../src/server/admission.ts'
import { openLogger } from '../src/telemetry/logger.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { webhooksOf } from '../src/webhooks/index.ts'
import { openHostileStore } from './harness/hostile-store.ts'
import { options, print, table } from './harness/report.ts'
import { leastCpuMs } from './harness/rounds.ts'
import { hostileBodies, reviewOf } from './hostile-bodies.ts'
import { hostileObjects } from './hostile-objects.ts'

const webhooks = webhooksOf(SHIPPED_KINDS)

const { only } = options({ only: '' })
const MEBIBYTE = 1024 * 1024
/** Smaller bodies have no limit in terms of `JSON.parse`, which takes next to no time then. */
const SMALL_BYTES = 100_000
const MAX_RATIO = 4
const MAX_GROWTH = 2.5
/** Growth below this time in ms does not count. */
const NOTICEABLE_MS = 5

const store = await openHostileStore()
const { log } = openLogger({ level: 'silent', format: 'json', output: { write: () => true } })
const dependencies = { store, log, metrics: openMetrics(), now: Date.now, propagateDeps: 'dataBound' as const }
const volumes = () => ({ whenNotReady: 'gate' as const })
const served = new Map(webhooks.map((one) => [one.name, serveWebhook(one, { ...dependencies, volumes })]))
const exceeded: string[] = []

const bodies = []
for (const body of hostileBodies.filter(({ name }) => name.includes(only))) {
  const name = `${body.webhook}: ${body.name}`
  const serve = served.get(body.webhook)
  const open = (size: number) => {
    const text = reviewOf(body, size)
    if (serve?.(text).status === 500) exceeded.push(`${name}: answered HTTP 500`)
    return { text, work: () => serve?.(text) }
  }
  bodies.push(await row(name, body.size, open))
}
const objects = []
for (const { name, size, open } of hostileObjects.filter((object) => object.name.includes(only))) {
  const openText = (items: number) => {
    const [stored, work] = open(items)
    return { text: JSON.stringify(stored), work }
  }
  objects.push(await row(name, size, openText))
}
const head = ['class', 'KiB', 'JSON.parse ms', 'total ms', '÷ JSON.parse', '× for twice the size']
print(
  'CPU time, least of 5 samples',
  `Reviews: parse, validate, decide, encode\n\n${table(head, bodies)}`,
  `Stored objects: one run of a loop, or one object that comes into the cache\n\n${table(head, objects)}`,
  exceeded.length === 0 ? 'no limit is exceeded' : `exceeded limits:\n${exceeded.join('\n')}`,
)
await store.stop()
if (exceeded.length > 0) process.exitCode = 1

type Open = (size: number) => { text: string; work: () => unknown }

/** Measures half of the size and the whole of it. */
async function row(name: string, size: number, open: Open): Promise<string[]> {
  const half = await measure(open(size / 2))
  const whole = await measure(open(size))
  const ratio = whole.totalMs / whole.parseMs
  const growth = whole.totalMs / half.totalMs
  const limitMs = whole.bytes <= 3 * MEBIBYTE ? 250 : 500
  const maxGrowth = MAX_GROWTH * (whole.bytes / half.bytes / 2)
  const checks: [boolean, string][] = [
    [whole.totalMs > limitMs, `${whole.totalMs.toFixed(0)} ms, more than ${limitMs}`],
    [whole.bytes > SMALL_BYTES && ratio > MAX_RATIO, `${ratio.toFixed(1)} × JSON.parse, more than ${MAX_RATIO}`],
    [whole.totalMs > NOTICEABLE_MS && growth > maxGrowth, `grows ${growth.toFixed(1)} ×, more than ${MAX_GROWTH}`],
  ]
  exceeded.push(...checks.flatMap(([isExceeded, message]) => (isExceeded ? [`${name}: ${message}`] : [])))
  const figures = [whole.parseMs, whole.totalMs, ratio, growth].map((figure) => figure.toFixed(figure < 1 ? 2 : 1))
  return [name, (whole.bytes / 1024).toFixed(0), ...figures]
}

async function measure({ text, work }: ReturnType<Open>) {
  const parseMs = await leastCpuMs(() => JSON.parse(text))
  return { bytes: Buffer.byteLength(text), parseMs, totalMs: await leastCpuMs(work) }
}
