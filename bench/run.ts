/**
 * `npm run bench`: what a review costs Lodestone, compared in the same run with a bare HTTPS server and with Karmada's own webhook, and
 * what a large fleet costs in memory and at start. Prints Markdown; ratios count, not absolute figures.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { request } from 'node:https'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type ControlPlane, startControlPlane } from '../test/e2e/control-plane.ts'
import { type Lodestone, startLodestone } from '../test/e2e/lodestone.ts'
import { runLoad } from './load.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { type Row, report, type StartFigures } from './report.ts'
import { type Fleet, seedFleet } from './seed.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    claims: { type: 'string', default: '10000' },
    bindings: { type: 'string', default: '100000' },
  },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)
const fleet: Fleet = {
  claims: Number(values.claims),
  sources: Number(values.claims),
  bindings: Number(values.bindings),
}
const CONNECTIONS = [1, 16]
/** What the detector sends: a binding that comes into being, and the same one overwritten with the policy's placement. */
const REVIEWS = [
  { review: 'CREATE', body: readReview('005-ResourceBinding-CREATE-app-deployment') },
  { review: 'UPDATE', body: readReview('011-ResourceBinding-UPDATE-app-deployment') },
]

interface Target {
  target: string
  pid: number
  port: number
  ca: string
  path: string
}

const template = JSON.parse(REVIEWS[0]?.body ?? '').request.object

const plane = await startControlPlane({ log })
try {
  const { lodestone, figures } = await startWithFleet(plane)
  const own: Target = {
    target: '(b) Lodestone',
    pid: lodestone.pid,
    port: Number(new URL(lodestone.url).port),
    ca: readFileSync(join(plane.dir, 'lodestone-certs', 'ca.crt'), 'utf8'),
    path: '/mutate/resource-binding',
  }
  const karmada: Target = {
    target: '(c) karmada-webhook',
    pid: plane.pidOf('karmada-webhook') ?? 0,
    port: Number(new URL(plane.url('karmada-webhook')).port),
    ca: plane.pki.caCertificate,
    path: '/mutate-resourcebinding',
  }
  const rows: Row[] = []
  for (const { review, body } of REVIEWS) {
    const baseline = await startBaseline(plane, await answeredPatch(own, body))
    rows.push(...(await measure([baseline, own, karmada], review, body)))
  }
  const memory = memoryMiB(lodestone.pid)
  const machine = `Node ${process.version}, ${cpus().length} CPUs (${cpus()[0]?.model.trim()}); ${seconds} s × ${rounds} rounds a cell, the median round counts.`
  const sizes = REVIEWS.map(({ review, body }) => `${review} ${Buffer.byteLength(body)} bytes`).join(', ')
  process.stdout.write(report({ machine: `${machine} Reviews: ${sizes}.`, rows, fleet, figures, memory }))
} finally {
  await plane.stopAll()
}
process.exit(0)

/** Every target in turn, several rounds, so that a machine whose speed drifts is unjust to nobody. */
async function measure(targets: Target[], review: string, body: string): Promise<Row[]> {
  const rows: Row[] = []
  for (const connections of CONNECTIONS) {
    const taken = targets.map(() => [] as Row[])
    for (const target of targets) await runLoad({ ...target, body, connections, seconds: 1, poll: true })
    for (let round = 0; round < rounds; round++) {
      for (const [i, target] of targets.entries()) taken[i]?.push(await measureOnce(target, review, body, connections))
      log(`${review}, ${connections} connections: round ${round + 1} of ${rounds}`)
    }
    rows.push(...taken.map(median))
  }
  return rows
}

/** CPU cost with a client that polls, latency with one that waits as kube-apiserver does. */
async function measureOnce(target: Target, review: string, body: string, connections: number): Promise<Row> {
  const before = cpuSeconds(target.pid)
  const busy = await runLoad({ ...target, body, connections, seconds, poll: true })
  const spent = cpuSeconds(target.pid) - before
  const { p50, p99 } = await runLoad({ ...target, body, connections, seconds, poll: false })
  const rate = busy.reviews / busy.seconds
  return { target: target.target, review, connections, perCpuSecond: busy.reviews / spent, rate, p50, p99 }
}

function median(rows: Row[]): Row {
  return rows.toSorted((a, b) => a.perCpuSecond - b.perCpuSecond)[Math.floor(rows.length / 2)] as Row
}

async function startWithFleet(target: ControlPlane): Promise<{ lodestone: Lodestone; figures: StartFigures }> {
  const manifests = execFileSync(process.execPath, ['src/main.ts', 'manifests', 'crds', 'rbac']).toString()
  await target.kubectl(['apply', '-f', '-'], { input: manifests })
  // The controllers would work on the bindings while we measure.
  await target.stop('karmada-controller-manager')
  await target.stop('karmada-scheduler')
  const kib = Math.round(JSON.stringify(template).length / 102.4) / 10
  log(`seeding ${fleet.claims} claims, ${fleet.sources} sources and ${fleet.bindings} bindings of ${kib} KiB`)
  await seedFleet(target.url('etcd'), template, fleet)
  const apiServer = target.pidOf('kube-apiserver') ?? 0
  await untilIdle(apiServer)
  const apiServerBefore = cpuSeconds(apiServer)
  const begun = performance.now()
  // Admission alone is measured: the loops would work on the fleet meanwhile.
  const lodestone = await startLodestone(target, { readyTimeoutMs: 300_000, config: { loops: { enabled: false } } })
  const figures = {
    seconds: (performance.now() - begun) / 1000,
    ownCpu: cpuSeconds(lodestone.pid),
    apiServerCpu: cpuSeconds(apiServer) - apiServerBefore,
    memory: memoryMiB(lodestone.pid).now,
  }
  log(`Lodestone is ready after ${figures.seconds.toFixed(1)} s`)
  return { lodestone, figures }
}

/** An API server that runs for long has its watch caches full; one that was just filled is still busy with that. */
async function untilIdle(pid: number): Promise<void> {
  for (let before = cpuSeconds(pid); ; ) {
    await sleep(1000)
    const now = cpuSeconds(pid)
    if (now - before < 0.2) return
    before = now
  }
}

/** What Lodestone answers, so that the baseline sends just as many bytes. */
async function answeredPatch({ port, ca, path }: Target, body: string): Promise<string> {
  const headers = { 'content-type': 'application/json' }
  const outgoing = request({ host: '127.0.0.1', port, ca, path, method: 'POST', headers })
  outgoing.end(body)
  const [response] = await once(outgoing, 'response')
  let text = ''
  for await (const chunk of response) text += chunk
  const { patch } = JSON.parse(text).response
  if (!patch) throw new Error(`Lodestone did not narrow the review: ${text}`)
  return patch
}

async function startBaseline(target: ControlPlane, patch: string): Promise<Target> {
  const folder = join(target.dir, 'baseline-certs')
  execFileSync(process.execPath, ['src/main.ts', 'certs', '--directory', folder])
  const args = ['bench/baseline.ts', join(folder, 'tls.crt'), join(folder, 'tls.key'), patch]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  target.onStop(async () => void child.kill())
  const [port] = await once(child.stdout, 'data')
  const ca = readFileSync(join(folder, 'ca.crt'), 'utf8')
  return { target: '(a) bare node:https', pid: child.pid ?? 0, port: Number(port), ca, path: '/' }
}

function readReview(name: string): string {
  return readFileSync(`test/data/reviews/${name}.json`, 'utf8').trim()
}

function log(message: string): void {
  process.stderr.write(`[bench] ${message}\n`)
}
