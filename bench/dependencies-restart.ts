/**
 * `npm run bench:dependencies-restart`: the distributor of dependencies restarts while all of them are attached. Measures what it needs until
 * it has looked at each workload once, for Karmada and for Lodestone.
 *
 * While the distributor is stopped, some workloads get another ConfigMap. It is measured when that one is attached. No controller creates
 * Works, and no policy exists.
 */
import { configMaps } from '../src/api/dependencies.ts'
import { namespaces as namespaceType } from '../src/api/namespace.ts'
import { endProcess } from '../src/cli/end-process.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import type { Lodestone } from '../test/e2e/lodestone.ts'
import { configMap, deployment } from '../test/e2e/manifests.ts'
import { freePorts } from '../test/e2e/processes.ts'
import { isAttachedTo, storedWorkload } from './harness/dependents.ts'
import { countRequests, type Requests, requestsBetween, total, WRITES, withPlane } from './harness/plane.ts'
import { cpuSeconds, memoryMiB, untilIdle } from './harness/process.ts'
import { type Queues, untilAtRest } from './harness/queues.ts'
import { log, median, options, print, table } from './harness/report.ts'
import { type Stored, seed } from './harness/seed.ts'
import { reached, Tally, watchNamespace } from './harness/watch.ts'

/**
 * `changed`: workloads that change while the distributor is stopped. `limit`: requests a second of each client. `workers`: those of each queue
 * of Karmada's distributor. `runs`: the numbers of the distributors.
 */
const given = { workloads: 1000, namespaces: 10, changed: 10, limit: 250, workers: 10, runs: '0,1' }
const { workloads, namespaces, changed, limit, workers, runs } = options(given)
const MEMBER = 'member1'
const BINDINGS = 'resourcebindings.work.karmada.io'
const RESOURCES = ['resourcebindings', 'deployments', 'configmaps', 'events']
const KARMADA = 'karmada-controller-manager'
const DISTRIBUTORS = [
  { name: 'Karmada', karmada: true, queues: ['dependencies-distributor', 'dependencies resource detector'] },
  { name: 'Lodestone', karmada: false, queues: ['attached-binding', 'dependencies'] },
]
const ROWS = [
  'ready after',
  'all workloads looked at, queues empty after',
  'runs of the queues',
  'a changed workload is attached after: first, median, last',
  'CPU of the distributor; of kube-apiserver',
  'peak memory of the distributor',
  'reads; writes; Events',
  'Karmada without its distributor: queue of its detector empty after; CPU',
]
const chosen = DISTRIBUTORS.filter((_, i) => runs.split(',').includes(String(i)))

interface Distributor {
  start(): Promise<void>
  stop(): Promise<void>
  /** The queues of the present process. */
  queues(): Queues
}

const columns: string[][] = []
for (const distributor of chosen) columns.push(await measure(distributor))
print(
  `${limit} requests/s for each client; ${workers} workers of each queue of Karmada; ${changed} workloads changed`,
  table(
    [`${workloads} workloads in ${namespaces} namespaces`, ...chosen.map(({ name }) => name)],
    ROWS.map((row, i) => [row, ...columns.map((column) => column[i] ?? '')]),
  ),
)
await endProcess()

/** Returns the cells of a column. */
async function measure({ name, karmada, queues }: (typeof DISTRIBUTORS)[number]): Promise<string[]> {
  const [port] = await freePorts(1)
  const flags = [
    ...[`--feature-gates=PropagateDeps=${karmada}`, '--controllers=cluster,namespace'],
    ...[`--kube-api-qps=${limit}`, `--kube-api-burst=${2 * limit}`, `--metrics-bind-address=127.0.0.1:${port}`],
    ...[`--concurrent-resourcebinding-syncs=${workers}`, `--concurrent-dependent-resource-syncs=${workers}`],
  ]
  const metrics = `http://127.0.0.1:${port}/metrics`
  return withPlane({ flags: { [KARMADA]: flags } }, async ({ plane, start }) => {
    await plane.stop('karmada-scheduler')
    await plane.stop(KARMADA)
    log(`${name}: seeding ${workloads} workloads`)
    await seed(plane.url('etcd'), fleet())
    if (!karmada) await plane.start(KARMADA)
    const config = { dependencies: { distribution: 'builtin' }, loops: { writesPerSecond: limit } }
    const distributor = karmada
      ? karmadaDistributor(plane, metrics, queues)
      : lodestoneDistributor(() => start({ config }), queues)
    await distributor.start()
    const { runs } = await untilAtRest(distributor.queues(), workloads)
    log(`attached all dependencies after ${runs.join(' and ')} runs`)
    await expectAttached(plane, [])
    await distributor.stop()
    const cells = await measureRestart(plane, distributor)
    return karmada ? cells : [...cells, await measureDetector(plane, metrics)]
  })
}

function karmadaDistributor(plane: ControlPlane, metrics: string, names: string[]): Distributor {
  return {
    start: () => plane.start(KARMADA),
    stop: () => plane.stop(KARMADA),
    queues: () => ({ metrics, names, pid: plane.pidOf(KARMADA) ?? 0 }),
  }
}

function lodestoneDistributor(open: () => Promise<Lodestone>, names: string[]): Distributor {
  let lodestone: Lodestone | undefined
  return {
    async start() {
      if (lodestone) await lodestone.restart()
      else lodestone = await open()
    },
    stop: async () => lodestone?.stop(),
    queues: () => ({ metrics: `${lodestone?.healthUrl}/metrics`, names, pid: lodestone?.pid ?? 0 }),
  }
}

async function measureRestart(plane: ControlPlane, distributor: Distributor): Promise<string[]> {
  // Spread over all workloads: a queue runs their keys in the order of a list.
  const numbers = Array.from({ length: changed }, (_, i) => Math.floor(((i + 0.5) * workloads) / changed))
  const replaced = new Tally(isReplacement)
  for (const namespace of new Set(numbers.map(namespaceOf))) await watchNamespace(plane, BINDINGS, namespace, replaced)
  await plane.apply(numbers.map((i) => deployment(`workload-${i}`, placed(i, 'replacement'))))
  const server = plane.pidOf('kube-apiserver') ?? 0
  await untilIdle(server)
  const requestsBefore = await countRequests(plane, RESOURCES)
  const cpuBefore = cpuSeconds(server)
  const begun = performance.now()
  await distributor.start()
  const readyMs = performance.now() - begun
  const rest = await untilAtRest(distributor.queues(), workloads)
  const serverCpu = cpuSeconds(server) - cpuBefore
  const requests = requestsBetween(requestsBefore, await countRequests(plane, RESOURCES))
  const { peak } = memoryMiB(distributor.queues().pid)
  await reached(changed, replaced)
  await expectAttached(plane, numbers)
  const seconds = [...replaced.reachedAt.values()].map((at) => (at - begun) / 1000)
  const waits = [Math.min(...seconds), median(seconds), Math.max(...seconds)]
  log(`at rest ${((rest.at - begun) / 1000).toFixed(1)} s after the start: ${JSON.stringify(requests)}`)
  return [
    `${(readyMs / 1000).toFixed(1)} s`,
    `${((rest.at - begun) / 1000).toFixed(1)} s`,
    rest.runs.join('; '),
    waits.map((wait) => `${wait.toFixed(1)} s`).join(', '),
    `${rest.cpu.toFixed(1)} s; ${serverCpu.toFixed(1)} s`,
    `${peak.toFixed(0)} MiB`,
    cellOfRequests(requests),
  ]
}

/** Measures the rest of the process of Karmada's distributor: its detector looks at each object too, and finds no policy. */
async function measureDetector(plane: ControlPlane, metrics: string): Promise<string> {
  await plane.stop(KARMADA)
  await untilIdle(plane.pidOf('kube-apiserver') ?? 0)
  const begun = performance.now()
  const detector = karmadaDistributor(plane, metrics, ['resource detector'])
  await detector.start()
  const { at, cpu } = await untilAtRest(detector.queues(), workloads)
  return `${((at - begun) / 1000).toFixed(1)} s; ${cpu.toFixed(1)} s`
}

function cellOfRequests(requests: Requests): string {
  const isWrite = ([kind]: [string, number]) => WRITES.some((verb) => kind.startsWith(`${verb} `))
  const all = Object.entries(requests)
  const writes = total(Object.fromEntries(all.filter(isWrite)))
  const withEvents = all.reduce((sum, [, count]) => sum + count, 0)
  return [total(requests) - writes, writes, withEvents - total(requests)].join('; ')
}

/** Namespaces, workloads with a ConfigMap of their own, whose bindings are scheduled, and the ConfigMaps for the changes. */
function* fleet(): Generator<Stored> {
  for (let i = 0; i < namespaces; i++) {
    const metadata = { name: `team-${i}`, labels: { 'namespace.karmada.io/skip-auto-propagation': 'true' } }
    yield { type: namespaceType, object: { apiVersion: 'v1', kind: 'Namespace', metadata } }
  }
  for (let i = 0; i < workloads; i++) {
    const { namespace, needs } = placed(i, 'settings')
    for (const object of [...needs, ...placed(i, 'replacement').needs]) yield { type: configMaps, object }
    yield* storedWorkload(`workload-${i}`, { namespace, needs, clusters: [MEMBER] })
  }
}

/** The namespace of a workload and the ConfigMap that it needs. Workloads with consecutive numbers are in one namespace. */
function placed(i: number, stem: string): { namespace: string; needs: KubeObject[] } {
  const namespace = namespaceOf(i)
  return { namespace, needs: [configMap(`${stem}-${i}`, { namespace })] }
}

function namespaceOf(i: number): string {
  return `team-${Math.floor((i * namespaces) / workloads)}`
}

function isReplacement(binding: KubeObject): boolean {
  const number = /^replacement-(\d+)-/.exec(binding.metadata.name)?.[1]
  return isAttachedTo(binding, `workload-${number}`, MEMBER)
}

/** Throws unless each workload has its ConfigMap and no other: the replacement if it was changed. */
async function expectAttached(plane: ControlPlane, replaced: number[]): Promise<void> {
  const attached = new Set<string>()
  for (let i = 0; i < namespaces; i++) {
    for (const binding of await plane.listJson(BINDINGS, `team-${i}`)) {
      const [, stem, number] = /^(settings|replacement)-(\d+)-/.exec(binding.metadata.name) ?? []
      if (number && isAttachedTo(binding, `workload-${number}`, MEMBER)) attached.add(`${stem}-${number}`)
    }
  }
  const isChanged = new Set(replaced)
  const expected = Array.from({ length: workloads }, (_, i) => `${isChanged.has(i) ? 'replacement' : 'settings'}-${i}`)
  const missing = expected.filter((name) => !attached.has(name))
  if (missing.length > 0 || attached.size > expected.length)
    throw new Error(`${attached.size} ConfigMaps are attached; missing: ${missing.slice(0, 5).join()}`)
}
