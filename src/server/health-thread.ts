/** The thread of the health server. It serves probes and metrics over plain HTTP, also while the main thread is busy. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parentPort, workerData } from 'node:worker_threads'
import { METRICS, type THREAD_METRICS } from '../telemetry/metric-table.ts'
import { watchConnections } from './connections.ts'
import {
  type FromThread,
  HEARTBEAT_MS,
  type HealthQuery,
  type HealthThreadInput,
  MAX_METRICS_CHARACTERS,
  type NotReady,
  type ToThread,
} from './health-protocol.ts'

/** The timeout of a query to the main thread, in ms; after it, the last known state is used. The timeout of a probe is 1 s. */
const QUERY_TIMEOUT_MS = 500
/** A longer stall is reported in the text of /livez. */
const REPORTED_STALL_MS = 1000
/** A longer stall makes the replica not ready. */
const READINESS_STALL_MS = 5000
const MAX_CONNECTIONS = 100

const { host, port, heartbeat, livenessStallMs } = workerData as HealthThreadInput
const pendingQueries = new Map<HealthQuery, PromiseWithResolvers<void>>()
let reasons: NotReady[] = [{ check: 'start', message: 'starting' }]
let warnings: string[] = []
let metrics: { text: string | undefined; takenAt: number } = { text: '', takenAt: performance.now() }

parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'readiness') ({ reasons, warnings } = message)
  if (message.kind === 'metrics') metrics = { text: message.text, takenAt: performance.now() }
  const about = message.kind === 'failed' ? message.about : message.kind
  pendingQueries.get(about)?.resolve()
  pendingQueries.delete(about)
})

function tell(message: FromThread): void {
  parentPort?.postMessage(message)
}

/** Queries the main thread. Resolves after its answer or the timeout. Concurrent calls share one query. */
async function ask(about: HealthQuery): Promise<void> {
  let pending = pendingQueries.get(about)
  if (!pending) {
    pending = Promise.withResolvers<void>()
    pendingQueries.set(about, pending)
    tell({ kind: 'query', about })
  }
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, QUERY_TIMEOUT_MS)
  await Promise.race([pending.promise, late.promise])
  clearTimeout(timer)
}

/** Returns for how long the main thread has been busy, in ms. */
function stallMs(): number {
  const sinceBeat = Number(process.hrtime.bigint() - Atomics.load(heartbeat, 0)) / 1e6
  return Math.max(0, sinceBeat - HEARTBEAT_MS)
}

function busyFor(stall: number): string {
  return `the main thread has been busy for ${(stall / 1000).toFixed(1)} s`
}

interface Answer {
  status: number
  text: string
}

/** Liveness never depends on the API server, since a restart would not repair that. */
function livez(): Answer {
  const stall = stallMs()
  if (stall <= livenessStallMs)
    return { status: 200, text: stall < REPORTED_STALL_MS ? 'ok\n' : `ok: ${busyFor(stall)}\n` }
  return { status: 503, text: `not alive: ${busyFor(stall)}, longer than ${livenessStallMs / 1000} s\n` }
}

/** Readiness, without the checks that the query excludes. */
async function readyz(query: URLSearchParams): Promise<Answer> {
  await ask('readiness')
  const stall = stallMs()
  const stalled: NotReady[] = stall > READINESS_STALL_MS ? [{ check: 'stall', message: busyFor(stall) }] : []
  const excluded = new Set(query.getAll('exclude'))
  const failing = [...reasons, ...stalled].filter(({ check }) => !excluded.has(check))
  if (failing.length === 0)
    return { status: 200, text: ['ok\n', ...warnings.map((warning) => `warning: ${warning}\n`)].join('') }
  return { status: 503, text: failing.map(({ message }) => `not ready: ${message}\n`).join('') }
}

async function metricsText(): Promise<Answer> {
  await ask('metrics')
  if (metrics.text === undefined) {
    return { status: 503, text: `the metrics have more than ${MAX_METRICS_CHARACTERS} characters\n` }
  }
  const own = [
    gauge('lodestone_main_thread_stall_seconds', stallMs()),
    gauge('lodestone_metrics_age_seconds', performance.now() - metrics.takenAt),
  ]
  return { status: 200, text: `${metrics.text.trimEnd()}\n${own.join('')}` }
}

function gauge(name: (typeof THREAD_METRICS)[number], ms: number): string {
  return `# HELP ${name} ${METRICS[name].help}\n# TYPE ${name} gauge\n${name} ${(ms / 1000).toFixed(3)}\n`
}

const paths: Record<string, (query: URLSearchParams) => Answer | Promise<Answer>> = {
  '/livez': livez,
  '/readyz': readyz,
  '/metrics': metricsText,
}

const server = createServer(
  { headersTimeout: 5000, requestTimeout: 5000, keepAliveTimeout: 30_000, maxHeaderSize: 8 * 1024 },
  async (request, response) => {
    const [path = '', query] = request.url?.split('?', 2) ?? []
    const answer = paths[path]
    if (!answer)
      return send(response, { status: 404, text: `path not found; paths are ${Object.keys(paths).join(', ')}\n` })
    if (request.method !== 'GET' && request.method !== 'HEAD') return send(response, { status: 405, text: 'use GET\n' })
    send(response, await answer(new URLSearchParams(query)))
    connections.answered(request.socket)
  },
)
const connections = watchConnections(server, MAX_CONNECTIONS, () => undefined)

function send(response: ServerResponse, { status, text }: Answer): void {
  // Prometheus requires this content type; the other texts are for users.
  response.writeHead(status, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' })
  response.end(text)
}

server.on('error', ({ message, code }: NodeJS.ErrnoException) => tell({ kind: 'failed', message, code }))
server.listen(port, host, () => tell({ kind: 'listening', port: (server.address() as AddressInfo).port }))
