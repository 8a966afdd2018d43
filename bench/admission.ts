/**
 * `npm run bench:admission`: measures the cost of a review, compared in the same run with a bare HTTPS server and with Karmada's own
 * webhook. Also measures the cost of a large fleet in memory and at start. Prints Markdown; compare the ratios only.
 */
import { parseArgs } from 'node:util'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { type Lodestone, startLodestone } from '../test/e2e/lodestone.ts'
import { type Round, type Row, report, type StartFigures } from './admission-report.ts'
import { BUILT } from './built.ts'
import { type Fleet, resolvedFleet } from './fleet.ts'
import { type Load, openLoad } from './load.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { startPlane, stopControllers, untilIdle } from './plane.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { seed } from './seed.ts'
import { answeredPatch, karmadaTarget, lodestoneTarget, readReview, startBaseline, type Target } from './target.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '1' },
    rounds: { type: 'string', default: '12' },
    starts: { type: 'string', default: '3' },
    claims: { type: 'string', default: '10000' },
    bindings: { type: 'string', default: '100000' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const starts = Number(values.starts)
const fleet: Fleet = {
  claims: Number(values.claims),
  sources: Number(values.claims),
  bindings: Number(values.bindings),
}
const CONNECTIONS = [1, 16]
/** Some ten thousand reviews a cell, until V8 has next to nothing left to compile: servers run for days. */
const WARM_UP_SECONDS = 10
/** The requests of Karmada's detector: a binding is created, and the same one is overwritten with the policy's placement. */
const REVIEWS = [
  { review: 'CREATE', body: readReview('005-ResourceBinding-CREATE-app-deployment') },
  { review: 'UPDATE', body: readReview('011-ResourceBinding-UPDATE-app-deployment') },
]

const template = JSON.parse(REVIEWS[0]?.body ?? '').request.object

const { plane, kubeconfig } = await startPlane()
try {
  const { lodestone, started } = await startWithFleet(plane)
  const own = lodestoneTarget(plane, lodestone)
  const karmada = karmadaTarget(plane)
  const rows: Row[] = []
  for (const { review, body } of REVIEWS) {
    const baseline = await startBaseline(plane, await answeredPatch(own, body))
    rows.push(...(await measure([baseline, own, karmada], review, body)))
  }
  const memory = memoryMiB(lodestone.pid)
  const sizes = REVIEWS.map(({ review, body }) => `${review} ${Buffer.byteLength(body)} bytes`).join(', ')
  const setting = `${machine()}; ${seconds} s × ${rounds} rounds a cell, medians of them. Reviews: ${sizes}.`
  process.stdout.write(report({ setting, rows, fleet, started, memory }))
} finally {
  await plane.stopAll()
}
process.exit(0)

/** Every target in turn, many short rounds, so that a machine whose speed drifts slows all of them alike. */
async function measure(targets: Target[], review: string, body: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const connections of CONNECTIONS) {
    const measured = await Promise.all(
      targets.map(async (target) => ({
        target,
        load: await openLoad({ ...target, body, connections }),
        rounds: [] as Round[],
      })),
    )
    for (const { load } of measured) await load.run({ seconds: WARM_UP_SECONDS, poll: true })
    for (let round = 0; round < rounds; round++) {
      for (const { target, load, rounds: taken } of measured) taken.push(await measureOnce(target, load))
    }
    log(`${review}, ${connections} connections: ${rounds} rounds`)
    for (const { target, load, rounds: taken } of measured) {
      load.close()
      rows.push({ target: target.target, review, connections, rounds: taken })
    }
  }
  return rows
}

/** CPU cost with a client that polls, latency with one that waits as kube-apiserver does. */
async function measureOnce({ pid }: Target, load: Load): Promise<Round> {
  const before = cpuSeconds(pid)
  const busy = await load.run({ seconds, poll: true })
  const spent = cpuSeconds(pid) - before
  const { p50, p99 } = await load.run({ seconds, poll: false })
  return { perCpuSecond: busy.reviews / spent, rate: busy.reviews / busy.seconds, p50, p99 }
}

/** Starts several times, since how long the API server takes differs from one time to the next; the last one stays. */
async function startWithFleet(target: ControlPlane): Promise<{ lodestone: Lodestone; started: StartFigures[] }> {
  await stopControllers(target)
  const kib = Math.round(JSON.stringify(template).length / 102.4) / 10
  log(`seeding ${fleet.claims} claims, ${fleet.sources} sources and ${fleet.bindings} bindings of ${kib} KiB`)
  await seed(target.url('etcd'), resolvedFleet(template, fleet))
  const apiServer = target.pidOf('kube-apiserver') ?? 0
  // Admission alone is measured: the loops would work on the fleet meanwhile.
  const config = { loops: { enabled: false } }
  const first = () => startLodestone(target, { kubeconfig, entry: BUILT, readyTimeoutMs: 300_000, config })
  const started: StartFigures[] = []
  let lodestone: Lodestone | undefined
  for (;;) {
    await untilIdle(apiServer)
    const apiServerBefore = cpuSeconds(apiServer)
    const begun = performance.now()
    if (lodestone) await lodestone.restart()
    else lodestone = await first()
    const { pid } = lodestone
    started.push({
      seconds: (performance.now() - begun) / 1000,
      ownCpu: cpuSeconds(pid),
      apiServerCpu: cpuSeconds(apiServer) - apiServerBefore,
      memory: memoryMiB(pid).now,
    })
    log(`Lodestone is ready after ${started.at(-1)?.seconds.toFixed(1)} s`)
    if (started.length >= starts) return { lodestone, started }
    await lodestone.stop()
  }
}
