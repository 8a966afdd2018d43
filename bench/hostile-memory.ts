/**
 * `npm run bench:hostile-memory`: sends every hostile body at once on 16 connections, and unfinished ones beside them. The target is a
 * Lodestone that has 512 MiB and the fleet of the admission benchmark in memory. It must neither restart nor need more than 480 MiB, and
 * other reviews must be answered. Exits with 1 otherwise.
 */
import { Agent, request } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { connect } from 'node:tls'
import { parseArgs } from 'node:util'
import { webhooks } from '../src/webhooks/index.ts'
import { startLodestone } from '../test/e2e/lodestone.ts'
import { BUILT } from './built.ts'
import { resolvedFleet } from './fleet.ts'
import { hostileBodies, reviewOf } from './hostile-bodies.ts'
import { log } from './log.ts'
import { machine } from './machine.ts'
import { table } from './markdown.ts'
import { startPlane, stopControllers } from './plane.ts'
import { memoryMiB } from './process-stats.ts'
import { seed } from './seed.ts'
import { lodestoneTarget, readReview, type Target } from './target.ts'

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '120' }, bindings: { type: 'string', default: '100000' } },
})
const CONTAINER = '512Mi'
const MAX_RSS_MIB = 480
const CONNECTIONS = 16
const UNFINISHED = 80
const UNFINISHED_BYTES = Math.floor(6.9 * 1024 * 1024)
const OTHERS_EVERY_MS = 100
/** As long as kube-apiserver waits for a webhook of ours. */
const OTHERS_TIMEOUT_MS = 3000

const review = readReview('005-ResourceBinding-CREATE-app-deployment')
const template = JSON.parse(review).request.object
const claims = Math.ceil(Number(values.bindings) / 10)

const { plane, kubeconfig } = await startPlane()
let failed = false
try {
  await stopControllers(plane)
  log(`seeding ${values.bindings} bindings and ${claims} claims`)
  await seed(plane.url('etcd'), resolvedFleet(template, { claims, sources: claims, bindings: Number(values.bindings) }))
  const lodestone = await startLodestone(plane, {
    kubeconfig,
    entry: BUILT,
    readyTimeoutMs: 300_000,
    config: { loops: { enabled: false } },
    env: { LODESTONE_MEMORY_LIMIT: CONTAINER },
  })
  const target = lodestoneTarget(plane, lodestone)
  const before = memoryMiB(target.pid)
  const heapMiB = (await lodestone.metric('nodejs_heap_size_used_bytes')) / 1024 / 1024
  const attack = await attackAll(target, performance.now() + Number(values.seconds) * 1000)
  await sleep(1000)
  const after = memoryMiB(target.pid)
  failed = report({ before: before.now, heapMiB, peak: after.peak }, attack)
} finally {
  await plane.stopAll()
}
process.exit(failed ? 1 : 0)

interface Attack {
  /** Answers to hostile bodies, by status; 0 where the connection ended. */
  statuses: Map<number, number>
  others: { answered: number; failed: number; slowestMs: number }
}

async function attackAll(target: Target, until: number): Promise<Attack> {
  const statuses = new Map<number, number>()
  const others = { answered: 0, failed: 0, slowestMs: 0 }
  const bodies = hostileBodies.map((body) => ({
    path: `${webhooks.find(({ name }) => name === body.webhook)?.type === 'mutating' ? '/mutate' : '/validate'}/${body.webhook}`,
    text: reviewOf(body, body.size, (name, { kind }) => {
      const resources = webhooks.find((webhook) => webhook.name === name)?.resources ?? []
      const found = resources.find((resource) => resource.kind === kind)
      if (!found) throw new Error(`${name} does not review ${kind}`)
      return found
    }),
  }))
  log(`attacking with ${bodies.length} bodies on ${CONNECTIONS} connections, and ${UNFINISHED} unfinished bodies`)

  async function attacker(first: number): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: target.ca })
    for (let i = first; performance.now() < until; i++) {
      const { path, text } = bodies[i % bodies.length] as (typeof bodies)[number]
      const status = await post(target, path, text, agent, 30_000)
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    agent.destroy()
  }

  async function other(): Promise<void> {
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: target.ca })
    while (performance.now() < until) {
      const begun = performance.now()
      const status = await post(target, target.path, review, agent, OTHERS_TIMEOUT_MS)
      if (status === 200) others.answered++
      else others.failed++
      others.slowestMs = Math.max(others.slowestMs, performance.now() - begun)
      await sleep(OTHERS_EVERY_MS)
    }
    agent.destroy()
  }

  const unfinished = Array.from({ length: UNFINISHED }, () => sendUnfinished(target, until))
  const attackers = Array.from({ length: CONNECTIONS }, (_, i) => attacker(i * 3))
  await Promise.all([other(), ...attackers, ...unfinished])
  return { statuses, others }
}

/** Sends all of a large body but its end, again whenever the server gives it up. */
async function sendUnfinished({ port, ca, path }: Target, until: number): Promise<void> {
  const head = `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${UNFINISHED_BYTES + 1}\r\n\r\n`
  const body = Buffer.alloc(UNFINISHED_BYTES, ' ')
  while (performance.now() < until) {
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' })
    const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
    socket.on('error', () => undefined)
    socket.write(head)
    socket.write(body)
    await Promise.race([ended, sleep(Math.max(0, until - performance.now()))])
    socket.destroy()
    await sleep(200)
  }
}

/** The status of the answer; 0 when there was none. */
function post({ port }: Target, path: string, text: string, agent: Agent, timeoutMs: number): Promise<number> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }
    const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', headers, agent, timeout: timeoutMs })
    outgoing.on('response', (response) => {
      response.resume()
      response.on('end', () => resolve(response.statusCode ?? 0))
      response.on('error', () => resolve(0))
    })
    outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')))
    outgoing.on('error', () => resolve(0))
    outgoing.end(text)
  })
}

interface Memory {
  before: number
  heapMiB: number
  peak: number
}

function report({ before, heapMiB, peak }: Memory, { statuses, others }: Attack): boolean {
  const sent = [...statuses.values()].reduce((sum, count) => sum + count, 0)
  const byStatus = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${count} × ${status || 'cut off'}`)
  const share = others.answered / Math.max(1, others.answered + others.failed)
  process.stdout.write(
    `${machine()}; ${values.seconds} s, ${values.bindings} bindings, ${claims} claims, ${CONTAINER}\n\n`,
  )
  process.stdout.write(
    table(
      ['figure', 'measured', 'to reach'],
      [
        ['restarts', 0, 0],
        ['resident memory before, MiB', before.toFixed(0), ''],
        ['heap in use before, MiB', heapMiB.toFixed(0), ''],
        ['resident memory at its peak, MiB', peak.toFixed(0), `< ${MAX_RSS_MIB}`],
        ['hostile bodies', `${sent} (${byStatus.join(', ')})`, ''],
        ['other reviews answered within 3 s', `${others.answered} of ${others.answered + others.failed}`, 'all'],
        ['slowest other review, ms', others.slowestMs.toFixed(0), ''],
      ],
    ),
  )
  return peak >= MAX_RSS_MIB || share < 1 || sent === 0
}
