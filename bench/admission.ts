/**
 * `npm run bench:admission`: CPU cost and latency of a review, compared with Karmada's webhook in the same rounds. Also the memory and the
 * start of Lodestone with a large fleet. `--against dist/main.js` of another build adds that build to the comparison.
 */
import { endProcess } from '../src/cli/end-process.ts'
import type { Better, Figure } from './harness/bounds.ts'
import { resolvedFleet } from './harness/fleet.ts'
import { type Load, openLoad } from './harness/load.ts'
import { stopControllers, withPlane } from './harness/plane.ts'
import { cpuSeconds, memoryMiB, untilIdle } from './harness/process.ts'
import { log, median, options, print, quotients, ratio, report, table } from './harness/report.ts'
import { interleave } from './harness/rounds.ts'
import { seed } from './harness/seed.ts'
import { CREATE, karmadaServer, lodestoneServer, type Server, UPDATE } from './harness/server.ts'

const values = options({ seconds: 1, rounds: 20, starts: 3, claims: 10_000, bindings: 100_000, against: '' })
const { seconds, rounds, starts, claims, bindings, against } = values
/** Ten thousand reviews and more, until V8 has compiled the servers. Short rounds, since servers close idle connections. */
const WARM_UP = { rounds: 5, seconds: 2 }
/** The loops would work on the fleet while admission is measured. */
const config = { loops: { enabled: false } }
/** What a round measures of each server, in the order of the columns. */
const MEASURED: { column: string; name: string; digits: number; better: Better }[] = [
  { column: 'per CPU-s', name: 'reviews per CPU second', digits: 0, better: 'higher' },
  { column: 'p99 ms', name: 'p99', digits: 2, better: 'lower' },
]

await withPlane({}, async ({ plane, start }) => {
  await stopControllers(plane)
  log(`seeding ${claims} claims and sources, and ${bindings} bindings`)
  await seed(plane.url('etcd'), resolvedFleet(JSON.parse(CREATE).request.object, { claims, sources: claims, bindings }))

  // Several starts, since the API server needs a different time for each. The last process is measured.
  let lodestone = await start({ config })
  const started: number[][] = []
  const apiServer = plane.pidOf('kube-apiserver') ?? 0
  for (let i = 0; i < starts; i++) {
    await lodestone.stop()
    await untilIdle(apiServer)
    const before = cpuSeconds(apiServer)
    const begun = performance.now()
    lodestone = await start({ config })
    const ready = (performance.now() - begun) / 1000
    log(`Lodestone is ready after ${ready.toFixed(1)} s`)
    const { pid } = lodestone
    started.push([ready, cpuSeconds(pid), cpuSeconds(apiServer) - before, memoryMiB(pid).now])
  }
  const [ready = 0, ownCpu = 0, apiServerCpu = 0, memory = 0] = mediansOf(started)

  const servers = [lodestoneServer(plane, lodestone), karmadaServer(plane)]
  if (against !== '') {
    const name = 'other build'
    servers.push(lodestoneServer(plane, await start({ config, name, entry: against }), name))
  }
  const rows = []
  const figures: Figure[] = []
  for (const [review, body] of Object.entries({ CREATE, UPDATE })) {
    for (const connections of [1, 16]) {
      const results = await measure(servers, body, connections)
      const cells = MEASURED.flatMap(({ digits }, i) => cellsOf(resultsOf(results, i), digits))
      rows.push([`${review}, ${Buffer.byteLength(body)} bytes`, connections, ...cells])
      for (const [i, { name, better }] of MEASURED.entries()) {
        const [lodestone = [], karmada = []] = resultsOf(results, i)
        const value = median(quotients(lodestone, karmada))
        // The p99 of many connections on few processors is that of their clients too: it differs by half from run to run.
        if (name === 'p99' && connections > 1) continue
        figures.push({ name: `${review}, connections: ${connections}, ${name} ÷ Karmada`, value, better })
      }
    }
  }
  const [own, ...others] = servers.map(({ name }) => name)
  const columns = (figure: string) =>
    [own, ...others, ...others.map((name) => `÷ ${name}`)].map((name) => `${figure} ${name}`)
  const { now, peak } = memoryMiB(lodestone.pid)
  report([...figures, { name: 'MiB after the load', value: now, better: 'lower' }])
  print(
    `${rounds} rounds of ${seconds} s, medians; ratios with quartiles; goal: p99 ÷ Karmada < 1`,
    table(['review', 'connections', ...MEASURED.flatMap(({ column }) => columns(column))], rows),
    table(
      [`with ${claims} claims, ${claims} sources, ${bindings} bindings`, 'measured', 'goal'],
      [
        ['resident memory when ready', `${memory.toFixed(0)} MiB`, '≤ 400 MiB'],
        ['resident memory after the load', `${now.toFixed(0)} MiB (peak ${peak.toFixed(0)})`, '≤ 400 MiB'],
        [`start to ready, median of ${starts}`, `${ready.toFixed(1)} s`, '≤ 20 s'],
        ['CPU until ready: Lodestone, kube-apiserver', `${ownCpu.toFixed(1)} s, ${apiServerCpu.toFixed(1)} s`, ''],
      ],
    ),
  )
})
await endProcess()

/** Returns the rounds of each server, each with the values of `MEASURED`. */
async function measure(servers: Server[], body: string, connections: number): Promise<number[][][]> {
  const loads = servers.map((server) => ({ ...server, load: openLoad(server, { body, connections }) }))
  await interleave(loads, WARM_UP.rounds, ({ load }) => load.run(WARM_UP.seconds, { poll: true }))
  const results = await interleave(loads, rounds, measureRound)
  for (const { load } of loads) await load.close()
  log(`${connections} connections: ${rounds} rounds`)
  return results
}

/** Returns one of the values of `MEASURED` for each server and round. */
function resultsOf(results: number[][][], measured: number): number[][] {
  return results.map((all) => all.map((round) => round[measured] ?? Number.NaN))
}

/** Returns the median of each server, and the ratios of Lodestone to the other servers. */
function cellsOf([own = [], ...others]: number[][], digits: number): string[] {
  return [...[own, ...others].map((all) => median(all).toFixed(digits)), ...others.map((other) => ratio(own, other))]
}

/** Returns reviews per CPU-second with a client that polls, and p99 with a client that waits, as kube-apiserver does. */
async function measureRound({ pid, load }: { pid: number; load: Load }): Promise<[number, number]> {
  const before = cpuSeconds(pid)
  const { reviews } = await load.run(seconds, { poll: true })
  const perCpuSecond = reviews / (cpuSeconds(pid) - before)
  return [perCpuSecond, (await load.run(seconds)).p99]
}

/** Returns the median of each column. */
function mediansOf(rows: number[][]): number[] {
  return (rows[0] ?? []).map((_, i) => median(rows.map((row) => row[i] ?? Number.NaN)))
}
