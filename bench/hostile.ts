/**
 * `npm run bench:hostile`: how long the most expensive bodies and stored objects keep the process busy, beside `JSON.parse` of the same
 * text. Processor time of the thread is measured, so that a busy machine changes little. Exits with 1 when a limit is broken.
 * An argument selects the rows whose names contain it.
 */
import { serveWebhook } from '../src/server/admission.ts'
import { openLogger } from '../src/telemetry/logger.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { webhooks } from '../src/webhooks/index.ts'
import { hostileBodies, reviewOf } from './hostile-bodies.ts'
import { hostileObjects } from './hostile-objects.ts'
import { openHostileStore } from './hostile-store.ts'
import { machine } from './machine.ts'
import { table } from './markdown.ts'

const MEBIBYTE = 1024 * 1024
const RUNS = 5
/** Bodies below this size have no limit in terms of `JSON.parse`, which takes next to no time then. */
const SMALL_BYTES = 100_000
const MAX_RATIO = 4
const MAX_GROWTH = 2.5
/** Twice of little is little: growth is looked at from here on, in ms. */
const NOTICEABLE_MS = 5

const store = await openHostileStore()
const { log } = openLogger({ level: 'silent', format: 'json', output: { write: () => true } })
const serving = new Map(
  webhooks.map((webhook) => [
    webhook.name,
    serveWebhook(webhook, {
      store,
      log,
      metrics: openMetrics(),
      now: Date.now,
      propagateDeps: 'dataBound',
      volumes: () => ({ whenNotReady: 'gate' }),
    }),
  ]),
)

interface Measured {
  bytes: number
  parseMs: number
  totalMs: number
}

/** A sample takes so long at least, in ms: the kernel counts processor time in steps of some. */
const SAMPLE_MS = 60

/** The least of some samples, in ms of this thread's processor time: what is above it is the machine's. */
function leastMs(run: () => unknown): number {
  const begun = performance.now()
  run()
  const repeats = Math.ceil(SAMPLE_MS / Math.max(performance.now() - begun, 0.01))
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < RUNS; i++) {
    const before = process.threadCpuUsage()
    for (let repeat = 0; repeat < repeats; repeat++) run()
    const { user, system } = process.threadCpuUsage(before)
    least = Math.min(least, (user + system) / 1000 / repeats)
  }
  return least
}

function measure(text: string, run: () => unknown): Measured {
  return { bytes: Buffer.byteLength(text), parseMs: leastMs(() => JSON.parse(text)), totalMs: leastMs(run) }
}

const broken: string[] = []

function row(name: string, half: Measured, whole: Measured): string[] {
  const ratio = whole.totalMs / whole.parseMs
  const growth = whole.totalMs / half.totalMs
  const limitMs = whole.bytes <= 3 * MEBIBYTE ? 250 : 500
  const complaints = [
    whole.totalMs > limitMs ? `${whole.totalMs.toFixed(0)} ms, more than ${limitMs}` : '',
    whole.bytes > SMALL_BYTES && ratio > MAX_RATIO ? `${ratio.toFixed(1)} × JSON.parse, more than ${MAX_RATIO}` : '',
    whole.totalMs > NOTICEABLE_MS && growth > MAX_GROWTH * (whole.bytes / half.bytes / 2)
      ? `grows ${growth.toFixed(1)} ×, more than ${MAX_GROWTH}`
      : '',
  ].filter((complaint) => complaint !== '')
  if (complaints.length > 0) broken.push(`${name}: ${complaints.join('; ')}`)
  const shown = [whole.parseMs, whole.totalMs, ratio, growth].map((figure) => figure.toFixed(figure < 1 ? 2 : 1))
  return [name, (whole.bytes / 1024).toFixed(0), ...shown]
}

const [selected = ''] = process.argv.slice(2)

const bodies = hostileBodies
  .filter(({ name }) => name.includes(selected))
  .map((body) => {
    const serve = serving.get(body.webhook)
    if (!serve) throw new Error(`no webhook ${body.webhook}`)
    const at = (size: number) => {
      const text = reviewOf(body, size, (name, { kind }) => {
        const resources = webhooks.find((webhook) => webhook.name === name)?.resources ?? []
        const found = resources.find((resource) => resource.kind === kind)
        if (!found) throw new Error(`${name} does not review ${kind}`)
        return found
      })
      let status = 0
      const measured = measure(text, () => {
        status = serve(text).status
      })
      if (status === 500) broken.push(`${body.webhook}, ${body.name}: answered HTTP 500`)
      return measured
    }
    return row(`${body.webhook}: ${body.name}`, at(body.size / 2), at(body.size))
  })

const objects = hostileObjects
  .filter(({ name }) => name.includes(selected))
  .map(({ name, size, open }) => {
    const at = (items: number) => {
      const { object, run } = open(items)
      return measure(JSON.stringify(object), run)
    }
    return row(name, at(size / 2), at(size))
  })

const head = ['class', 'KiB', 'JSON.parse ms', 'total ms', '÷ JSON.parse', '× for twice the size']
process.stdout.write(`${machine()}; least of ${RUNS} runs, processor time\n\n`)
process.stdout.write(`Reviews: parse, check, decide, encode\n\n${table(head, bodies)}\n`)
process.stdout.write(
  `Stored objects: one run of a loop, or one object that comes into the cache\n\n${table(head, objects)}\n`,
)
process.stdout.write(broken.length === 0 ? 'every limit is kept\n' : `limits that are broken:\n${broken.join('\n')}\n`)
await store.stop()
if (broken.length > 0) process.exitCode = 1
