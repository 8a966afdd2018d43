/**
 * `npm run bench:dependencies`: workloads are scheduled all at once, and then moved all at once. Measures the time and the requests until
 * each of their dependencies is attached to the right member. Compares Karmada's distributor, the same distributor with Lodestone's
 * interpreter, and Lodestone. Prints Markdown.
 *
 * Each workload has three objects of its own. Everything is seeded and every process is at rest before the clock starts. The benchmark
 * then writes the scheduler's result into all bindings, past the API server, so that neither a scheduler nor a start is measured. All have
 * the same allowance of requests a second. Of Karmada's controllers only the indispensable ones run: no controller makes Works.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import type { ResourceBinding } from '../src/api/karmada.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import type { ControlPlane } from '../test/e2e/control-plane.ts'
import { startLodestone } from '../test/e2e/lodestone.ts'
import { countRequests, type Writes, writesBetween } from './api-writes.ts'
import { BUILT } from './built.ts'
import { type DistributorRun, type Phase, report } from './dependencies-report.ts'
import { DEPENDENCIES, dependencyFleet, isOfWorkload, scheduled } from './dependency-fleet.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { startPlane, untilIdle } from './plane.ts'
import { cpuSeconds, memoryMiB } from './process-stats.ts'
import { overwrite, seed } from './seed.ts'
import { openTally, reached, type Tally } from './tally.ts'
import { watch } from './watch.ts'

const { values } = parseArgs({
  options: {
    workloads: { type: 'string', default: '5000' },
    /** Requests a second that each client is allowed; twice as many at once, after a rest. */
    writes: { type: 'string', default: '250' },
    /** The distributors to measure, by their number. */
    runs: { type: 'string', default: '0,1,2' },
  },
})
const workloads = Number(values.workloads)
const allowed = Number(values.writes)
const attached = workloads * DEPENDENCIES.length
const RESOURCES = ['resourcebindings', 'deployments', 'events', ...DEPENDENCIES.map(({ type: { plural } }) => plural)]
const QUIET_MS = 3_000

interface Distributor {
  name: string
  karmada: boolean
  lodestone?: 'karmada' | 'builtin'
}

const distributors: Distributor[] = [
  { name: 'Karmada', karmada: true },
  { name: 'Karmada, told by Lodestone', karmada: true, lodestone: 'karmada' },
  { name: 'Lodestone', karmada: false, lodestone: 'builtin' },
]

const runs: DistributorRun[] = []
for (const index of values.runs.split(',').map(Number)) runs.push(await measure(distributors[index] as Distributor))
process.stdout.write(report({ setting: `${machine()}; ${allowed} requests/s allowed.`, workloads, attached, runs }))
process.exit(0)

async function measure({ name, karmada, lodestone: distribution }: Distributor): Promise<DistributorRun> {
  const controllerManager = [
    `--feature-gates=PropagateDeps=${karmada}`,
    '--controllers=cluster,namespace',
    `--kube-api-qps=${allowed}`,
    `--kube-api-burst=${2 * allowed}`,
  ]
  const { plane, kubeconfig } = await startPlane({ flags: { 'karmada-controller-manager': controllerManager } })
  try {
    await plane.stop('karmada-scheduler')
    log(`${name}: seeding ${workloads} workloads with ${DEPENDENCIES.length} dependencies each`)
    await seed(plane.url('etcd'), dependencyFleet(workloads))
    const lodestone =
      distribution &&
      (await startLodestone(plane, {
        entry: BUILT,
        kubeconfig,
        readyTimeoutMs: 300_000,
        config: { dependencies: { distribution }, loops: { writesPerSecond: allowed } },
      }))
    const pids = {
      Karmada: plane.pidOf('karmada-controller-manager') ?? 0,
      ...(lodestone && { Lodestone: lodestone.pid }),
      'kube-apiserver': plane.pidOf('kube-apiserver') ?? 0,
    }
    const fleet = await followAttached(plane)
    for (const pid of Object.values(pids)) await untilIdle(pid)
    const phases = [
      await measurePhase(plane, 'scheduled', 'member1', fleet, pids),
      await measurePhase(plane, 'moved', 'member2', fleet, pids),
    ]
    const { 'kube-apiserver': _server, ...own } = pids
    const memory = Object.fromEntries(Object.entries(own).map(([program, pid]) => [program, memoryMiB(pid).now]))
    return { name, phases, memory }
  } finally {
    await plane.stopAll()
  }
}

async function measurePhase(
  plane: ControlPlane,
  name: string,
  member: string,
  fleet: Followed,
  pids: Record<string, number>,
): Promise<Phase> {
  const list = (await plane.listJson('resourcebindings.work.karmada.io', 'default')) as unknown as ResourceBinding[]
  const results = list.filter(isOfWorkload).map((binding) => scheduled(binding, member))
  const tally = fleet.expect(member)
  await untilIdle(pids['kube-apiserver'] ?? 0)
  const before = { requests: await countRequests(plane, RESOURCES), cpu: cpuOf(pids) }
  const begun = performance.now()
  await overwrite(plane.url('etcd'), results)
  const written = (performance.now() - begun) / 1000
  await reached([{ what: `dependencies are attached to ${member}`, tally, goal: attached }])
  const seconds = (tally.changedAt() - begun) / 1000
  const after = await quietRequests(plane)
  log(`${name}: done after ${seconds.toFixed(1)} s, of which the schedule's writing took ${written.toFixed(1)} s`)
  const cpu = cpuOf(pids)
  return {
    name,
    seconds,
    requests: writesBetween(before.requests, after),
    cpu: Object.fromEntries(Object.entries(cpu).map(([of, used]) => [of, used - (before.cpu[of] ?? 0)])),
  }
}

interface Followed {
  /** Counts from here on those that are attached to this member alone. */
  expect(member: string): Tally
}

async function followAttached(plane: ControlPlane): Promise<Followed> {
  let tally: Tally | undefined
  await watch(plane, 'resourcebindings.work.karmada.io', (object, at) => tally?.take(object, at))
  return {
    expect(member) {
      tally = openTally((object) => isAttachedTo(object, member))
      return tally
    },
  }
}

/** As Karmada's distributor attaches it, to the workload of the same number. */
function isAttachedTo({ metadata, spec }: KubeObject & { spec?: unknown }, member: string): boolean {
  const { requiredBy = [], resource } = spec as ResourceBinding['spec']
  const [only] = requiredBy
  const number = /^(?:settings|password|account)-(\d+)-/.exec(metadata.name)?.[1]
  return (
    number !== undefined &&
    requiredBy.length === 1 &&
    only?.name === `workload-${number}-deployment` &&
    only.clusters?.length === 1 &&
    only.clusters[0]?.name === member &&
    resource.uid !== undefined
  )
}

/** The number of requests, counted when no client sends any more. */
async function quietRequests(plane: ControlPlane): Promise<Writes> {
  for (let before = await countRequests(plane, RESOURCES); ; ) {
    await sleep(QUIET_MS)
    const now = await countRequests(plane, RESOURCES)
    if (JSON.stringify(now) === JSON.stringify(before)) return now
    before = now
  }
}

function cpuOf(pids: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(pids).map(([program, pid]) => [program, cpuSeconds(pid)]))
}
