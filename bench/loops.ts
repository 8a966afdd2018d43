/**
 * `npm run bench:loops`: how long the loops need for a fleet that no loop has reconciled, and how much of their limit of writes they use.
 * Also the latency of admission meanwhile.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess } from '../src/cli/end-process.ts'
import type { KubeObject } from '../test/e2e/api-client.ts'
import { startCatalog } from './harness/catalog.ts'
import { clusterOf, unresolvedFleet } from './harness/fleet.ts'
import { startLoad } from './harness/load.ts'
import {
  countRequests,
  type Installed,
  type Requests,
  requestsBetween,
  stopControllers,
  total,
  WRITES,
  withPlane,
} from './harness/plane.ts'
import { cpuSeconds, memoryMiB, untilIdle } from './harness/process.ts'
import { log, options, print, table } from './harness/report.ts'
import { seed } from './harness/seed.ts'
import { CREATE, karmadaServer, lodestoneServer, type Server } from './harness/server.ts'
import { reached, Tally, watch } from './harness/watch.ts'

/**
 * `writes`: limits of writes a second, one run each. `seconds`: how long admission is measured at rest. `pause`: the ms between two reviews on a
 * connection. With 5 ms, these are some hundred reviews a second, more than a hub has. Without a pause, they would be the load.
 */
const { claims, tables, writes, seconds, pause } = options({
  claims: 10_000,
  tables: 1000,
  writes: '100,250',
  seconds: 30,
  pause: 5,
})
const ANSWER_MS = 20
const RESOURCES = ['datasourceclaims', 'datasources', 'resourcebindings', 'events']
const limits = writes.split(',').map(Number)

const ROWS = [
  ['all bindings narrowed', ''],
  ['… writes until then; for each claim', ''],
  ['all claims Bound and all bindings narrowed', '≤ 120 s at 100/s'],
  ['… writes until then; for each claim', '≤ 1.5 for each claim'],
  ['queries to the catalog', `≤ ${tables}`],
  ['resident memory', '≤ 400 MiB'],
  ['CPU: Lodestone; kube-apiserver', ''],
  ['p99 of reviews ÷ p99 at rest; Karmada webhook', '≤ 1.5'],
] as const
const columns: (string | number)[][] = []
for (const limit of limits) columns.push(await withPlane({}, (on) => measure(on, limit)))
print(
  `a review every ${pause} ms on one connection; at rest for ${seconds} s`,
  table(
    [
      `${claims} claims, ${tables} tables, answers after ${ANSWER_MS} ms`,
      ...limits.map((limit) => `${limit} writes/s`),
      'goal',
    ],
    ROWS.map(([name, goal], i) => [name, ...columns.map((column) => column[i] ?? ''), goal]),
  ),
)
await endProcess()

/** Returns the cells of a column. */
async function measure({ plane, start }: Installed, limit: number): Promise<(string | number)[]> {
  await stopControllers(plane)
  const catalog = await startCatalog(plane, tables, ANSWER_MS)
  log(`seeding ${claims} claims for ${tables} tables, and a binding each`)
  await seed(plane.url('etcd'), unresolvedFleet(JSON.parse(CREATE).request.object, claims, tables))
  const apiServer = plane.pidOf('kube-apiserver') ?? 0
  await untilIdle(apiServer)
  const bound = new Tally((claim) => (claim['status'] as { phase?: string } | undefined)?.phase === 'Bound')
  const narrowed = new Tally(isNarrowed)
  await watch(plane, 'datasourceclaims', bound)
  await watch(plane, 'resourcebindings.work.karmada.io', narrowed)
  while (bound.seen.size < claims || narrowed.seen.size < claims) await sleep(100)

  const writesBefore = await countRequests(plane, RESOURCES, WRITES)
  const config = { systems: { directory: catalog.directory }, loops: { writesPerSecond: limit } }
  const lodestone = await start({ config })
  const { pid } = lodestone
  const ready = performance.now()
  const cpu = () => [cpuSeconds(pid), cpuSeconds(apiServer)] as const
  const [ownBefore, apiServerBefore] = cpu()
  const servers = [lodestoneServer(plane, lodestone), karmadaServer(plane)]
  const endLoads = startLoads(servers)
  await reached(claims, narrowed)
  const until = requestsBetween(writesBefore, await countRequests(plane, RESOURCES, WRITES))
  log(`all bindings narrowed after ${narrowed.secondsSince(ready).toFixed(1)} s: ${JSON.stringify(until)}`)
  await reached(claims, bound, narrowed)
  const done = Math.max(bound.secondsSince(ready), narrowed.secondsSince(ready))
  const written = requestsBetween(writesBefore, await countRequests(plane, RESOURCES, WRITES))
  const [ownCpu, apiServerCpu] = cpu()
  const { now, peak } = memoryMiB(pid)
  const during = await endLoads()
  log(`done after ${done.toFixed(1)} s: ${JSON.stringify(written)}`)
  await untilIdle(apiServer)
  const endRest = startLoads(servers)
  await sleep(seconds * 1000)
  const rest = await endRest()
  return [
    `${narrowed.secondsSince(ready).toFixed(1)} s`,
    writesOf(until),
    `${done.toFixed(1)} s`,
    writesOf(written),
    await catalog.queries(),
    `${now.toFixed(0)} MiB (peak ${peak.toFixed(0)})`,
    `${(ownCpu - ownBefore).toFixed(1)} s; ${(apiServerCpu - apiServerBefore).toFixed(1)} s`,
    during.map(({ p99 }, i) => (p99 / (rest[i]?.p99 ?? Number.NaN)).toFixed(2)).join('; '),
  ]
}

/** The writes without Events, and how many these are for each claim. */
function writesOf(requests: Requests): string {
  return `${total(requests)}; ${(total(requests) / claims).toFixed(2)}`
}

/** Loads all servers at the same time: the webhook of Karmada shows the effect of the busy machine. */
function startLoads(servers: Server[]) {
  const ends = servers.map((server) => startLoad(server, { body: CREATE, connections: 1, pauseMs: pause }))
  return () => Promise.all(ends.map((end) => end()))
}

/** Whether the binding of workload i has the cluster of its table only, and may be scheduled. */
function isNarrowed({ metadata, spec }: KubeObject & { spec?: unknown }): boolean {
  const { placement, suspension } = spec as {
    placement?: { clusterAffinity?: { clusterNames?: string[] } }
    suspension?: { scheduling?: boolean }
  }
  const claim = Number(/^workload-(\d+)-/.exec(metadata.name)?.[1] ?? 0)
  return placement?.clusterAffinity?.clusterNames?.join() === clusterOf(claim % tables) && !suspension?.scheduling
}
