/**
 * `npm run bench:hostile-memory`: sends every hostile body on 16 connections, and unfinished bodies on other connections. The target has
 * 512 MiB and the fleet of the admission benchmark. Exits with 1 if it restarts, needs 480 MiB or more, or does not answer another review.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import type { Client } from 'undici'
import { endProcess } from '../src/cli/end-process.ts'
import { SHIPPED_KINDS } from '../src/core/workload-kinds/kinds.ts'
import { allWebhooks } from '../src/webhooks/index.ts'
import { resolvedFleet } from './harness/fleet.ts'
import { stopControllers, withPlane } from './harness/plane.ts'
import { memoryMiB } from './harness/process.ts'
import { log, options, print, table } from './harness/report.ts'
import { seed } from './harness/seed.ts'
import { CREATE, connectTo, lodestoneServer, post, type Server } from './harness/server.ts'
import { hostileBodies, reviewOf } from './hostile-bodies.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

const { seconds, bindings } = options({ seconds: 120, bindings: 100_000 })
const claims = Math.ceil(bindings / 10)
const CONTAINER = '512Mi'
const MAX_RSS_MIB = 480
const CONNECTIONS = 16
const UNFINISHED = 80
const UNFINISHED_BYTES = Math.floor(6.9 * 1024 * 1024)
const OTHERS_EVERY_MS = 100
/** The longest time that an API server waits for Lodestone's webhooks by default, and the time that it may be configured to wait. */
const [FAST_MS, TIMEOUT_MS] = [3000, 10_000]

/** Answers to hostile bodies by status; 0 if the connection ended. */
const statuses = new Map<number, number>()
const others = { sent: 0, answered: 0, fast: 0, slowestMs: 0 }

const failed = await withPlane({}, async ({ plane, start }) => {
  await stopControllers(plane)
  log(`seeding ${bindings} bindings and ${claims} claims`)
  await seed(plane.url('etcd'), resolvedFleet(JSON.parse(CREATE).request.object, { claims, sources: claims, bindings }))
  const lodestone = await start({ config: { loops: { enabled: false } }, env: { LODESTONE_MEMORY_LIMIT: CONTAINER } })
  const server = lodestoneServer(plane, lodestone)
  const before = memoryMiB(server.pid).now
  await attack(server, performance.now() + seconds * 1000)
  await sleep(1000)
  // Throws if the process has ended.
  const { peak } = memoryMiB(server.pid)
  const hostile = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  const each = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status || 'cut off'}`)
  print(
    `${seconds} s, ${bindings} bindings, ${claims} claims, ${CONTAINER}`,
    table(
      ['number', 'measured', 'goal'],
      [
        [
          'resident memory before; at its peak',
          `${before.toFixed(0)}; ${peak.toFixed(0)} MiB, no restart`,
          `< ${MAX_RSS_MIB}`,
        ],
        ['hostile bodies', `${hostile} (${each.join(', ')})`, ''],
        [
          'other reviews answered within 10 s',
          `${others.answered} of ${others.sent} (${others.fast} within 3 s)`,
          'all',
        ],
        ['slowest other review', `${others.slowestMs.toFixed(0)} ms`, ''],
      ],
    ),
  )
  return peak >= MAX_RSS_MIB || others.answered < others.sent || hostile === 0
})
await endProcess(failed ? 1 : 0)

async function attack(server: Server, end: number): Promise<void> {
  const bodies = hostileBodies.map((body) => {
    const { type } = webhooks.find(({ name }) => name === body.webhook) ?? {}
    return { path: `/${type === 'mutating' ? 'mutate' : 'validate'}/${body.webhook}`, text: reviewOf(body, body.size) }
  })
  log(`attacking with ${bodies.length} bodies on ${CONNECTIONS} connections, and ${UNFINISHED} unfinished bodies`)
  const attacker = async (first: number) => {
    const client = connectTo(server)
    for (let i = first; performance.now() < end; i++) {
      const { path, text } = bodies[i % bodies.length] as (typeof bodies)[number]
      const status = await statusOf(client, path, text, 30_000)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    await client.destroy()
  }
  await Promise.all([
    sendOthers(server, end),
    ...Array.from({ length: CONNECTIONS }, (_, i) => attacker(i * 3)),
    ...Array.from({ length: UNFINISHED }, () => sendUnfinished(server, end)),
  ])
}

async function sendOthers(server: Server, end: number): Promise<void> {
  const client = connectTo(server)
  for (; performance.now() < end; await sleep(OTHERS_EVERY_MS)) {
    const begun = performance.now()
    const status = await statusOf(client, server.path, CREATE, TIMEOUT_MS)
    const ms = performance.now() - begun
    others.sent++
    if (status === 200) others.answered++
    if (status === 200 && ms <= FAST_MS) others.fast++
    others.slowestMs = Math.max(others.slowestMs, ms)
  }
  await client.destroy()
}

/** Sends a large body without its last byte, and again when the server ends the connection. */
async function sendUnfinished({ port, ca, path }: Server, end: number): Promise<void> {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${UNFINISHED_BYTES + 1}\r\n\r\n`
  for (; performance.now() < end; await sleep(200)) {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' })
    socket.on('error', () => undefined)
    socket.write(head)
    socket.write(Buffer.alloc(UNFINISHED_BYTES, ' '))
    await Promise.race([once(socket, 'close').catch(() => undefined), sleep(Math.max(0, end - performance.now()))])
    socket.destroy()
  }
}

/** Returns the status of the answer, and 0 if there is none in time. */
async function statusOf(client: Client, path: string, text: string, timeoutMs: number): Promise<number> {
  return post(client, path, text, timeoutMs).then(
    ({ status }) => status,
    () => 0,
  )
}
