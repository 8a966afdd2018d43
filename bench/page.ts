/**
 * `npm run bench:page`: what the page costs with a large fleet. First paint and filters in Chromium, the memory of the process, and the p99 of
 * admission with and without readers in the same rounds.
 */
import { spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Browser, Page } from 'playwright-core'
import { type Cluster, clusters as clusterType, resourceBindings } from '../src/api/karmada.ts'
import type { K8sObject } from '../src/api/meta.ts'
import { endProcess } from '../src/cli/end-process.ts'
import { makeCluster } from '../test/builders.ts'
import { startBrowser } from '../test/e2e/chromium.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { resolvedFleet } from './harness/fleet.ts'
import { openLoad } from './harness/load.ts'
import { startReader } from './harness/page-reader.ts'
import { stopControllers, withPlane } from './harness/plane.ts'
import { BUILT, memoryMiB, runOn } from './harness/process.ts'
import { log, median, options, print, quantile, quotients, ratio, table } from './harness/report.ts'
import { interleave } from './harness/rounds.ts'
import { type Stored, seed } from './harness/seed.ts'
import { CREATE, lodestoneServer } from './harness/server.ts'

const { claims, sources, clusters, rounds, seconds } = options({
  claims: 10_000,
  sources: 2_000,
  clusters: 1_000,
  rounds: 12,
  seconds: 2,
})
/**
 * Admission and its client have one processor. The page, its reader and the API server have another one, since in a cluster the page is another
 * pod.
 */
const [ADMISSION, OTHERS] = [0, 1]
/** In ms. */
const READER_STARTS_MS = 500

/** Searches of a user who types. */
const FILTERS = ['7', '77', '777', '', 'claim-9', 'bucket']

/** In the browser: types a search at once, and returns the milliseconds until the rows of its answer are painted. */
const TYPE_SEARCH = `async (words) => {
  const input = document.querySelector('#search')
  const begun = performance.now()
  input.value = words
  input.dispatchEvent(new Event('input', { bubbles: true }))
  const painted = () => new Promise(requestAnimationFrame)
  await painted()
  while (document.querySelector('[aria-busy="true"]')) await painted()
  await painted()
  return performance.now() - begun
}`

await withPlane({}, async ({ plane, start }) => {
  await stopControllers(plane)
  log(`seeding ${claims} claims, ${sources} sources and ${clusters} clusters`)
  await seed(plane.url('etcd'), fleet())
  const lodestone = await start({ config: { loops: { enabled: false } } })
  const server = lodestoneServer(plane, lodestone)
  // With pauses, since a machine without an idle processor delays everything.
  const load = openLoad(server, { body: CREATE, connections: 4, pauseMs: 5 })
  for (let i = 0; i < 3; i++) await load.run(seconds)
  const alone = memoryMiB(lodestone.pid).now

  const ui = await startPage(plane)
  const browser = await startBrowser()
  try {
    const page = await openPage(browser, ui.link)
    const [paints, rows, filters] = await lookAround(page)
    log('admission with and without readers')
    // The browser is on the machine of its reader: only its requests reach the machine of admission.
    const cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
    await page.close()
    runOn(ADMISSION, process.pid, lodestone.pid)
    runOn(OTHERS, ui.pid, plane.pidOf('kube-apiserver'), plane.pidOf('etcd'))
    const results = await interleave(['without', 'with'], rounds, async (readers) => {
      const reader = readers === 'with' ? startReader(ui.link, cookie, FILTERS) : undefined
      if (reader) {
        runOn(OTHERS, reader.pid)
        await sleep(READER_STARTS_MS)
      }
      const { p99 } = await load.run(seconds)
      if (reader && reader.exitCode !== null) throw new Error('the reader ended')
      reader?.kill()
      return p99
    })
    const [without = [], withReaders = []] = results
    const text = (values: number[], digits = 0) =>
      `${median(values).toFixed(digits)} (worst ${Math.max(...values).toFixed(digits)})`
    print(
      `${claims} claims, ${sources} sources, ${clusters} clusters; medians of ${rounds}`,
      table(
        ['figure', 'measured', 'goal'],
        [
          ['first paint, ms', text(paints), '≤ 1,500'],
          ['rows shown after a reload, ms', text(rows), ''],
          [
            'a filter until its rows are shown, ms',
            `${text(filters)}, p90 ${quantile(filters, 0.9).toFixed(0)}`,
            '≤ 100',
          ],
          [
            'memory of serve, without and with the page, MiB',
            `${alone.toFixed(0)}, ${memoryMiB(lodestone.pid).now.toFixed(0)}`,
            '≤ + 50',
          ],
          [
            'memory of the process of the page, MiB',
            `${memoryMiB(ui.pid).now.toFixed(0)} (peak ${memoryMiB(ui.pid).peak.toFixed(0)})`,
            '',
          ],
          ['p99 of admission without readers, ms', text(without, 2), ''],
          ['p99 of admission beside a reader, ms', text(withReaders, 2), ''],
          [
            'p99 with ÷ without readers',
            `${ratio(withReaders, without)}, median ${median(quotients(withReaders, without)).toFixed(2)}`,
            '1',
          ],
        ],
      ),
    )
  } finally {
    await browser.close()
    await load.close()
    ui.stop()
  }
})
await endProcess()

/** Each binding is narrowed, so that the page has as many workloads as claims. */
function* fleet(): Generator<Stored> {
  for (let i = 0; i < clusters; i++) {
    yield { type: clusterType, object: makeCluster(`member${i + 1}`, { region: `region-${i % 20}` }) as Cluster }
  }
  const template = JSON.parse(CREATE).request.object as K8sObject
  for (const stored of resolvedFleet(template, { claims, sources, bindings: claims - 1 })) {
    yield stored.type === resourceBindings ? { ...stored, object: narrowed(stored.object) } : stored
  }
}

function narrowed(binding: K8sObject): K8sObject {
  const locality = {
    state: 'Narrowed',
    message: 'default/claim is in member2',
    claims: ['default/claim'],
    required: ['member2'],
  }
  const annotations = { 'lodestone.dev/locality': JSON.stringify(locality) }
  return { ...binding, metadata: { ...binding.metadata, annotations } }
}

async function startPage({ kubeconfig }: ControlPlane): Promise<{ link: string; pid: number; stop: () => void }> {
  const child = spawn(process.execPath, [BUILT, 'ui', '--kubeconfig', kubeconfig], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let text = ''
  for await (const chunk of child.stdout) {
    text += chunk
    const [link] = /http:\S+/.exec(text) ?? []
    if (link !== undefined) return { link, pid: child.pid ?? 0, stop: () => child.kill() }
  }
  throw new Error('lodestone ui ended')
}

async function openPage(browser: Browser, link: string): Promise<Page> {
  const page = await (await browser.newContext({ viewport: { width: 1280, height: 900 } })).newPage()
  await page.goto(link)
  return page
}

/** Returns the milliseconds until the first paint, until rows are shown, and of each filter. */
async function lookAround(page: Page): Promise<[number[], number[], number[]]> {
  const [paints, rows, filters]: number[][] = [[], [], []]
  await page.goto(new URL('/claims', page.url()).href)
  await page.locator('tbody tr').first().waitFor()
  for (let round = 0; round < rounds; round++) {
    await page.reload()
    await page.locator('tbody tr').first().waitFor()
    rows?.push(await page.evaluate('performance.now()'))
    paints?.push(await page.evaluate('performance.getEntriesByName("first-contentful-paint")[0]?.startTime'))
    for (const words of FILTERS) filters?.push(await filterTime(page, words))
  }
  return [paints ?? [], rows ?? [], filters ?? []]
}

function filterTime(page: Page, words: string): Promise<number> {
  return page.evaluate(`(${TYPE_SEARCH})(${JSON.stringify(words)})`)
}
