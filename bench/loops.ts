/**
 * `npm run bench:loops`: measures how long the loops take over a fleet that no loop has reconciled. Also measures how close they come to
 * their allowed writes, and the latency of admission meanwhile. Prints Markdown.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { startLodestone } from '../test/e2e/lodestone.ts'
import { CONFLICTS, countWrites, writesBetween } from './api-writes.ts'
import { BUILT } from './built.ts'
import { type Catalog, startCatalog } from './catalog.ts'
import { clusterOf, unresolvedFleet } from './fleet.ts'
import type { LoadResult } from './load.ts'
import { startLoad } from './load-thread.ts'
import { log } from './log.ts'
import { type LoopsRun, report } from './loops-report.ts'
import { machine } from './machine.ts'
import { type MeasuredPlane, startPlane, stopControllers, untilIdle } from './plane.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { followFleet } from './progress.ts'
import { seed } from './seed.ts'
import { answeredPatch, lodestoneTarget, readReview, startBaseline, type Target } from './target.ts'

const { values } = parseArgs({
  options: {
    claims: { type: 'string', default: '10000' },
    tables: { type: 'string', default: '1000' },
    /** Writes a second that the loops are allowed, one run each. */
    writes: { type: 'string', default: '100,250' },
    /** How long admission is measured at rest. */
    seconds: { type: 'string', default: '30' },
    /** Flags of Node for Lodestone, to try something or to take a profile. */
    'node-options': { type: 'string', default: '' },
  },
})
const fleet = { claims: Number(values.claims), tables: Number(values.tables) }
const CATALOG_ANSWER_MS = 20
/** Between reviews: some hundred a second, more than a hub has. Without a pause the reviews would be the load, and the loops beside it. */
const PAUSE_MS = 5
/** Its workload is the one of claim 0. */
const body = readReview('005-ResourceBinding-CREATE-app-deployment')

const runs: LoopsRun[] = []
for (const allowed of values.writes.split(',').map(Number)) {
  const started = await startPlane()
  try {
    runs.push(await measure(started, allowed))
  } finally {
    await started.plane.stopAll()
  }
}
const setting = `${machine()}; a review every ${PAUSE_MS} ms or so on one connection; at rest for ${values.seconds} s.`
process.stdout.write(report({ setting, ...fleet, answerMs: CATALOG_ANSWER_MS, runs }))
process.exit(0)

async function measure({ plane, kubeconfig }: MeasuredPlane, allowed: number): Promise<LoopsRun> {
  const catalog = await prepare(plane)
  const progress = await followFleet(plane, {
    claims: fleet.claims,
    clusterOf: (binding) => clusterOf(tableIndex(binding)),
  })
  const apiServer = plane.pidOf('kube-apiserver') ?? 0
  const before = await countWrites(plane)
  const lodestone = await startLodestone(plane, {
    entry: BUILT,
    readyTimeoutMs: 300_000,
    kubeconfig,
    config: { systems: { directory: catalog.systems }, loops: { writesPerSecond: allowed } },
    env: values['node-options'] ? { NODE_OPTIONS: values['node-options'] } : {},
  })
  const ready = performance.now()
  const cpuBefore = { own: cpuSeconds(lodestone.pid), apiServer: cpuSeconds(apiServer) }
  log(`Lodestone is ready and may write ${allowed} times a second`)
  const own = lodestoneTarget(plane, lodestone)
  const targets = [await startBaseline(plane, await answeredPatch(own, body)), own]
  const endLoads = startLoads(targets)
  const done = await progress.done()
  const seconds = (Math.max(done.claims, done.bindings) - ready) / 1000
  const writes = writesBetween(before, await countWrites(plane))
  const during = await endLoads()
  const memory = memoryMiB(lodestone.pid)
  const cpu = { own: cpuSeconds(lodestone.pid) - cpuBefore.own, apiServer: cpuSeconds(apiServer) - cpuBefore.apiServer }
  log(`done after ${seconds.toFixed(1)} s`)
  await untilIdle(apiServer)
  const endRest = startLoads(targets)
  await sleep(Number(values.seconds) * 1000)
  const idle = await endRest()
  const { [CONFLICTS]: conflicts = 0, ...byKind } = writes
  return {
    allowed,
    seconds,
    claimsSeconds: (done.claims - ready) / 1000,
    bindingsSeconds: (done.bindings - ready) / 1000,
    writes: byKind,
    conflicts,
    queries: await catalog.queries(),
    memory,
    cpu,
    admission: targets.map(({ target }, i) => ({
      target,
      during: during[i] as LoadResult,
      idle: idle[i] as LoadResult,
    })),
  }
}

async function prepare(plane: ControlPlane): Promise<Catalog> {
  await stopControllers(plane)
  const catalog = await startCatalog(plane, { tables: fleet.tables, answerMs: CATALOG_ANSWER_MS })
  log(`seeding ${fleet.claims} claims over ${fleet.tables} tables, and a binding each`)
  await seed(plane.url('etcd'), unresolvedFleet(JSON.parse(body).request.object, fleet))
  await untilIdle(plane.pidOf('kube-apiserver') ?? 0)
  return catalog
}

/** Reviews for all at once: what the busy machine does to a server that has nothing else to do is no fault of Lodestone's. */
function startLoads(targets: Target[]): () => Promise<LoadResult[]> {
  const loads = targets.map((target) => startLoad({ ...target, body, connections: 1, pauseMs: PAUSE_MS }))
  return () => Promise.all(loads.map((load) => load.end()))
}

/** Of the data that the workload of that binding needs. */
function tableIndex(binding: string): number {
  const claim = Number(/^workload-(\d+)-/.exec(binding)?.[1] ?? 0)
  return claim % fleet.tables
}
