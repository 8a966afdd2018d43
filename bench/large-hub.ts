/**
 * `npm run bench:large-hub`: the p99 of a review with a large fleet in memory, and with a part of it. Both processes serve in the same rounds,
 * each beside an idle control plane of its own.
 */
import { endProcess } from '../src/cli/end-process.ts'
import { resolvedFleet } from './harness/fleet.ts'
import { openLoad } from './harness/load.ts'
import { stopControllers, withPlane } from './harness/plane.ts'
import { untilIdle } from './harness/process.ts'
import { log, median, options, print, ratio, table } from './harness/report.ts'
import { interleave } from './harness/rounds.ts'
import { seed } from './harness/seed.ts'
import { CREATE, lodestoneServer, type Server, UPDATE } from './harness/server.ts'

/** `part`: by how much the other fleet is smaller. */
const given = { claims: 100_000, bindings: 250_000, part: 10, seconds: 1, rounds: 20 }
const { claims, bindings, part, seconds, rounds } = options(given)
const WARM_UP = { rounds: 5, seconds: 2 }

await withFleet(1, (large) => withFleet(part, (small) => compare([large, small])))
await endProcess()

/** Starts Lodestone on a hub with a part of the fleet. */
function withFleet<T>(divisor: number, measure: (server: Server) => Promise<T>): Promise<T> {
  const size = { claims: Math.ceil(claims / divisor), bindings: Math.ceil(bindings / divisor) }
  return withPlane({}, async ({ plane, start }) => {
    await stopControllers(plane)
    log(`seeding ${size.claims} claims and sources, and ${size.bindings} bindings`)
    await seed(plane.url('etcd'), resolvedFleet(JSON.parse(CREATE).request.object, { ...size, sources: size.claims }))
    // The loops would work on the fleet while admission is measured.
    const lodestone = await start({ config: { loops: { enabled: false } } })
    await untilIdle(plane.pidOf('kube-apiserver') ?? 0)
    return measure({ ...lodestoneServer(plane, lodestone), name: `${size.bindings} bindings` })
  })
}

async function compare(servers: Server[]): Promise<void> {
  const rows = []
  for (const [review, body] of Object.entries({ CREATE, UPDATE })) {
    for (const connections of [1, 16]) {
      const loads = servers.map((server) => openLoad(server, { body, connections }))
      await interleave(loads, WARM_UP.rounds, (load) => load.run(WARM_UP.seconds, { poll: true }))
      const [large = [], small = []] = await interleave(loads, rounds, async (load) => (await load.run(seconds)).p99)
      for (const load of loads) await load.close()
      log(`${review}, ${connections} connections: ${rounds} rounds`)
      rows.push([review, connections, ...[large, small].map((all) => median(all).toFixed(2)), ratio(large, small)])
    }
  }
  const names = servers.map(({ name }) => `p99 ms: ${name}`)
  print(
    `${rounds} rounds of ${seconds} s, medians; ratio with quartiles; goal: ≤ 1.3`,
    table(['review', 'connections', ...names, '÷'], rows),
  )
}
