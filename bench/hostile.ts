/**
 * `npm run bench:hostile`: CPU time of the most expensive bodies and stored objects, beside `JSON.parse` of the same text, and of the patch in the
 * answer. The generated bodies have the longest legal value of each list and map of each schema, alone and in pairs. Exits with 1 if a limit is exceeded. `--only` selects
 * rows by a part of the name.
 *
 * CPU time of the thread is measured, and the least of several samples counts. A row above a limit is measured again, and the limits in ms
 * grow with the time that `JSON.parse` needs on this machine. So a busy machine changes little.
 */
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { admissionSettings } from '../src/server/admission.fake.ts'
import { serveWebhook } from '../src/server/admission.ts'
import { openLogger } from '../src/telemetry/logger.ts'
import { openMetrics } from '../src/telemetry/metrics.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import { baselineMs } from '../test/fuzz/cpu-time.ts'
import { generatedBodies } from './generated-bodies.ts'
import { openHostileStore } from './harness/hostile-store.ts'
import { options, print, table } from './harness/report.ts'
import { leastCpuMs } from './harness/rounds.ts'
import { type HostileBody, hostileBodies, reviewOf } from './hostile-bodies.ts'
import { hostileObjects } from './hostile-objects.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

const { only } = options({ only: '' })
const MEBIBYTE = 1024 * 1024
/** Smaller bodies have no limit in terms of `JSON.parse`, which takes next to no time then. */
const SMALL_BYTES = 100_000
const MAX_RATIO = 4
/** For twice the size: a linear cost grows 2 ×, a quadratic one 4 ×. */
const MAX_GROWTH = 3
/** Growth and ratios below this time in ms do not count. */
const NOTICEABLE_MS = 5
/** The time that this machine needs for the baseline when it is quiet. */
const QUIET_BASELINE_MS = 30
/** A row is measured so many times before it exceeds a limit. */
const MAX_ATTEMPTS = 4
const QUICK = { samples: 2, sampleMs: 5 }

const stores = { hub: await openHostileStore('hub'), member: await openHostileStore('member') }
/** Admission in a member injects volumes, so its decisions are longer than those of a hub. */
const IN_MEMBER: ReadonlySet<string> = new Set(['pod', 'annotated-pod', 'workload'])
const { log } = openLogger({ level: 'silent', format: 'json', output: { write: () => true } })
const metrics = openMetrics()
const served = new Map(
  webhooks.map((one) => {
    const store = IN_MEMBER.has(one.name) ? stores.member : stores.hub
    return [one.name, serveWebhook(one, { ...admissionSettings, store, log, metrics, now: Date.now })]
  }),
)
const exceeded: string[] = []

const bodies: string[][] = []
for (const body of selected(hostileBodies)) {
  bodies.push(await row(titleOf(body), body.size, (size) => openBody(body, size)))
}
const generated: Measured[] = []
for (const body of selected(generatedBodies)) generated.push(await quickRow(body))
const objects: string[][] = []
for (const { name, size, open } of hostileObjects.filter((object) => object.name.includes(only))) {
  const openText = (items: number) => {
    const [stored, work] = open(items)
    return { text: JSON.stringify(stored), work }
  }
  objects.push(await row(name, size, openText))
}
const head = ['class', 'KiB', 'JSON.parse ms', 'total ms', '÷ JSON.parse', '× for twice the size']
const slowest = generated.toSorted((a, b) => b.totalMs - a.totalMs).slice(0, 10)
print(
  'CPU time, least of the samples',
  `Reviews: parse, validate, decide, encode\n\n${table(head, bodies)}`,
  `The slowest of ${generated.length} generated reviews\n\n${table(
    head,
    slowest.map((one) => cellsOf(one)),
  )}`,
  `Stored objects: one run of a loop, or one object that comes into the cache\n\n${table(head, objects)}`,
  exceeded.length === 0 ? 'no limit is exceeded' : `exceeded limits:\n${exceeded.join('\n')}`,
)
await Promise.all(Object.values(stores).map((store) => store.stop()))
if (exceeded.length > 0) process.exitCode = 1

type Open = (size: number) => { text: string; patch?: string; work: () => unknown }

interface Measured {
  name: string
  bytes: number
  parseMs: number
  totalMs: number
}

function selected(all: readonly HostileBody[]): HostileBody[] {
  return all.filter((body) => titleOf(body).includes(only))
}

function titleOf({ webhook, name }: HostileBody): string {
  return `${webhook}: ${name}`
}

function openBody(body: HostileBody, size: number) {
  const text = reviewOf(body, size)
  const serve = served.get(body.webhook)
  const answer = serve?.(text)
  if (answer?.status === 500) exceeded.push(`${titleOf(body)}: answered HTTP 500`)
  return { text, patch: patchOf(answer?.body), work: () => serve?.(text) }
}

/** Returns the patch of an AdmissionReview as JSON; an empty one if there is none. */
function patchOf(review = '{}'): string {
  const patch: string = JSON.parse(review).response?.patch ?? ''
  return Buffer.from(patch, 'base64').toString() || '[]'
}

/** Measures half of the size and the whole of it. */
async function row(name: string, size: number, open: Open): Promise<string[]> {
  const half = await measure(name, open(size / 2))
  const whole = await measure(name, open(size))
  for (let attempt = 1; attempt < MAX_ATTEMPTS && faultsOf(whole, half).length > 0; attempt++) {
    keepLeast(half, await measure(name, open(size / 2)))
    keepLeast(whole, await measure(name, open(size)))
  }
  exceeded.push(...faultsOf(whole, half))
  return cellsOf(whole, whole.totalMs / half.totalMs)
}

/**
 * Measures a generated body: briefly, unless it seems to exceed a limit. The clock of CPU time may have steps of 4 ms, so a brief measurement
 * of a few ms is only a guess.
 */
async function quickRow(body: HostileBody): Promise<Measured> {
  const opened = openBody(body, body.size)
  const quick = await measure(titleOf(body), opened, QUICK)
  if (faultsOf(quick).length === 0) return quick
  const measured = await measure(titleOf(body), opened)
  for (let attempt = 1; attempt < MAX_ATTEMPTS && faultsOf(measured).length > 0; attempt++) {
    keepLeast(measured, await measure(titleOf(body), opened))
  }
  exceeded.push(...faultsOf(measured))
  return measured
}

function ratioOf({ totalMs, parseMs }: Measured): number {
  return totalMs / parseMs
}

function faultsOf(whole: Measured, half?: Measured): string[] {
  const { name, bytes, totalMs } = whole
  const ratio = ratioOf(whole)
  const growth = half ? totalMs / half.totalMs : 0
  const limitMs = bytes <= 3 * MEBIBYTE ? 250 : 500
  const maxGrowth = half ? MAX_GROWTH * Math.max(1, bytes / half.bytes / 2) : 0
  const checks: [boolean, string][] = [
    [totalMs > limitMs && totalMs / slowness() > limitMs, `${totalMs.toFixed(0)} ms, more than ${limitMs}`],
    [
      bytes > SMALL_BYTES && ratio > MAX_RATIO && totalMs > NOTICEABLE_MS && totalMs / slowness() > NOTICEABLE_MS,
      `${ratio.toFixed(1)} × JSON.parse, more than ${MAX_RATIO}`,
    ],
    [
      totalMs > NOTICEABLE_MS && half !== undefined && growth > maxGrowth,
      `grows ${growth.toFixed(1)} ×, more than ${maxGrowth.toFixed(1)}`,
    ],
  ]
  return checks.flatMap(([isExceeded, message]) => (isExceeded ? [`${name}: ${message}`] : []))
}

/** How much slower this machine is now than when it is quiet, at least 1. */
function slowness(): number {
  return Math.max(1, Math.min(...Array.from({ length: 3 }, baselineMs)) / QUIET_BASELINE_MS)
}

function keepLeast(measured: Measured, again: Measured): void {
  measured.parseMs = Math.min(measured.parseMs, again.parseMs)
  measured.totalMs = Math.min(measured.totalMs, again.totalMs)
}

function cellsOf({ name, bytes, parseMs, totalMs }: Measured, growth?: number): string[] {
  const digits = (figure: number) => figure.toFixed(figure < 1 ? 2 : 1)
  const figures = [parseMs, totalMs, totalMs / parseMs].map(digits)
  return [name, (bytes / 1024).toFixed(0), ...figures, growth === undefined ? '' : digits(growth)]
}

async function measure(name: string, { text, patch = '[]', work }: ReturnType<Open>, sampling = {}): Promise<Measured> {
  const parse = () => [JSON.parse(text), JSON.parse(patch)]
  const parseMs = await leastCpuMs(parse, sampling)
  return { name, bytes: Buffer.byteLength(text), parseMs, totalMs: await leastCpuMs(work, sampling) }
}
