/**
 * `npm run bench`: what a review costs Lodestone, compared in the same run with a bare HTTPS server and with Karmada's own webhook, and
 * what a large fleet costs in memory and at start. Prints a Markdown table; ratios count, not absolute figures.
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { type ControlPlane, startControlPlane } from '../test/e2e/control-plane.ts'
import { type Lodestone, startLodestone } from '../test/e2e/lodestone.ts'
import { type LoadResult, runLoad } from './load.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { type Fleet, seedFleet } from './seed.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
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

interface Target {
  name: string
  pid: number
  port: number
  ca: string
  path: string
}

interface Row extends LoadResult {
  target: string
  connections: number
  perCpuSecond: number
}

const body = readFileSync('test/data/reviews/005-ResourceBinding-CREATE-app-deployment.json', 'utf8').trim()
const template = JSON.parse(body).request.object

const plane = await startControlPlane({ log })
try {
  const { lodestone, started } = await startWithFleet(plane)
  const baseline = await startBaseline(plane)
  const certificates = join(plane.dir, 'lodestone-certs')
  const targets: Target[] = [
    { name: '(a) bare node:https', ...baseline, path: '/' },
    {
      name: '(b) Lodestone',
      pid: lodestone.pid,
      port: Number(new URL(lodestone.url).port),
      ca: readFileSync(join(certificates, 'ca.crt'), 'utf8'),
      path: '/mutate/resource-binding',
    },
    {
      name: '(c) karmada-webhook',
      pid: plane.pidOf('karmada-webhook') ?? 0,
      port: Number(new URL(plane.url('karmada-webhook')).port),
      ca: plane.pki.caCertificate,
      path: '/mutate-resourcebinding',
    },
  ]
  const rows = await measure(targets)
  report(rows, started, lodestone.pid)
} finally {
  await plane.stopAll()
}
process.exit(0)

/** Every target in turn, several rounds, so that a machine whose speed drifts is unjust to nobody. The median round counts. */
async function measure(targets: Target[]): Promise<Row[]> {
  const rows: Row[] = []
  for (const connections of CONNECTIONS) {
    for (const target of targets) await load(target, connections, 1)
    const taken = targets.map(() => [] as Row[])
    for (let round = 0; round < rounds; round++) {
      for (const [i, target] of targets.entries()) taken[i]?.push(await load(target, connections, seconds))
      log(`round ${round + 1} of ${rounds} at ${connections} connections`)
    }
    rows.push(...taken.map(median))
  }
  return rows
}

async function load(target: Target, connections: number, forSeconds: number): Promise<Row> {
  const before = cpuSeconds(target.pid)
  const result = await runLoad({ ...target, body, connections, seconds: forSeconds })
  const spent = cpuSeconds(target.pid) - before
  return { ...result, target: target.name, connections, perCpuSecond: result.reviews / spent }
}

function median(rows: Row[]): Row {
  return rows.toSorted((a, b) => a.perCpuSecond - b.perCpuSecond)[Math.floor(rows.length / 2)] as Row
}

interface Started {
  seconds: number
  ownCpu: number
  apiServerCpu: number
  memory: number
}

async function startWithFleet(target: ControlPlane): Promise<{ lodestone: Lodestone; started: Started }> {
  const manifests = execFileSync(process.execPath, ['src/main.ts', 'manifests', 'crds', 'rbac']).toString()
  await target.kubectl(['apply', '-f', '-'], { input: manifests })
  // The controllers would work on the bindings while we measure.
  await target.stop('karmada-controller-manager')
  await target.stop('karmada-scheduler')
  log(
    `seeding ${fleet.claims} claims, ${fleet.sources} sources and ${fleet.bindings} bindings of ${Math.round(JSON.stringify(template).length / 102.4) / 10} KiB`,
  )
  await seedFleet(target.url('etcd'), template, fleet)
  const apiServer = target.pidOf('kube-apiserver') ?? 0
  await untilIdle(apiServer)
  const apiServerBefore = cpuSeconds(apiServer)
  const begun = performance.now()
  const lodestone = await startLodestone(target, { readyTimeoutMs: 300_000 })
  const started = {
    seconds: (performance.now() - begun) / 1000,
    ownCpu: cpuSeconds(lodestone.pid),
    apiServerCpu: cpuSeconds(apiServer) - apiServerBefore,
    memory: memoryMiB(lodestone.pid).now,
  }
  log(`Lodestone is ready after ${started.seconds.toFixed(1)} s`)
  return { lodestone, started }
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

async function startBaseline(target: ControlPlane): Promise<{ pid: number; port: number; ca: string }> {
  const folder = join(target.dir, 'baseline-certs')
  execFileSync(process.execPath, ['src/main.ts', 'certs', '--directory', folder])
  const child = spawn(process.execPath, ['bench/baseline.ts', join(folder, 'tls.crt'), join(folder, 'tls.key')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  target.onStop(async () => void child.kill())
  const [port] = await once(child.stdout, 'data')
  return { pid: child.pid ?? 0, port: Number(port), ca: readFileSync(join(folder, 'ca.crt'), 'utf8') }
}

function report(rows: Row[], started: Started, pid: number): void {
  const of = (name: string, connections: number) =>
    rows.find((row) => row.target.startsWith(name) && row.connections === connections) as Row
  const ratio = (a: number, b: number) => (a / b).toFixed(2)
  const lines = [
    `Node ${process.version}, ${cpus().length} CPUs (${cpus()[0]?.model.trim()}), review of ${Buffer.byteLength(body)} bytes, ${seconds} s × ${rounds} rounds, median round`,
    '',
    '| server | connections | reviews per server-CPU-second | reviews/s | p50 ms | p99 ms |',
    '|---|---|---|---|---|---|',
    ...rows.map(
      (row) =>
        `| ${row.target} | ${row.connections} | ${Math.round(row.perCpuSecond)} | ${Math.round(row.reviews / row.seconds)} | ${row.p50.toFixed(2)} | ${row.p99.toFixed(2)} |`,
    ),
    '',
    '| ratio | 1 connection | 16 connections | to reach |',
    '|---|---|---|---|',
    `| (b) ÷ (a), reviews per CPU-second | ${CONNECTIONS.map((n) => ratio(of('(b)', n).perCpuSecond, of('(a)', n).perCpuSecond)).join(' | ')} | ≥ 0.7 |`,
    `| (b) ÷ (c), reviews per CPU-second | ${CONNECTIONS.map((n) => ratio(of('(b)', n).perCpuSecond, of('(c)', n).perCpuSecond)).join(' | ')} | ≥ 5 |`,
    `| (b) ÷ (c), p99 | ${CONNECTIONS.map((n) => ratio(of('(b)', n).p99, of('(c)', n).p99)).join(' | ')} | < 1 |`,
    '',
    `| with ${fleet.claims} claims, ${fleet.sources} sources, ${fleet.bindings} bindings | measured | to reach |`,
    '|---|---|---|',
    `| resident memory when ready | ${Math.round(started.memory)} MiB | ≤ 400 MiB |`,
    `| resident memory after the load | ${Math.round(memoryMiB(pid).now)} MiB (peak ${Math.round(memoryMiB(pid).peak)}) | ≤ 400 MiB |`,
    `| start to ready | ${started.seconds.toFixed(1)} s | ≤ 20 s |`,
    `| of that, CPU of Lodestone / of kube-apiserver | ${started.ownCpu.toFixed(1)} s / ${started.apiServerCpu.toFixed(1)} s | |`,
    '',
  ]
  process.stdout.write(lines.join('\n'))
}

function log(message: string): void {
  process.stderr.write(`[bench] ${message}\n`)
}
