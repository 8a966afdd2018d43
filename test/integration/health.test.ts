/** Probes and metrics while the main thread is busy: asked by another thread, since this one is the main thread. */
import { Worker } from 'node:worker_threads'
import { expect, onTestFinished, test } from 'vitest'
import { openHealthServer } from '../../src/server/health.ts'
import type { NotReady } from '../../src/server/health-protocol.ts'
import { silentLog as log } from '../../src/telemetry/logger.fake.ts'
import { openMetrics } from '../../src/telemetry/metrics.ts'

async function open({ livenessStallMs = 60_000, reasons = [] as NotReady[] } = {}) {
  const metrics = openMetrics()
  const health = await openHealthServer({
    host: '127.0.0.1',
    port: 0,
    livenessStallMs,
    notReady: () => reasons,
    metrics,
    log,
  })
  onTestFinished(() => health.close())
  return { metrics, url: `http://127.0.0.1:${health.port}` }
}

interface Seen {
  status: number
  text: string
}

/** Requests these paths, each when a stall of this length is reported. This thread is blocked until all have an answer. */
async function whileBusy(url: string, { stallSeconds, paths }: { stallSeconds: number; paths: string[] }) {
  const done = new Int32Array(new SharedArrayBuffer(4))
  const client = new Worker(CLIENT, { eval: true, workerData: { url, stallSeconds, paths, done } })
  onTestFinished(async () => void (await client.terminate()))
  const seen = new Promise<Seen[]>((resolve, reject) => {
    client.once('message', resolve)
    client.once('error', reject)
  })
  expect(Atomics.wait(done, 0, 0, 45_000)).toBe('ok')
  return seen
}

const CLIENT = `
const { parentPort, workerData: { url, stallSeconds, paths, done } } = require('node:worker_threads')
async function ask(path) {
  const response = await fetch(url + path)
  return { status: response.status, text: await response.text() }
}
async function run() {
  const told = /busy for ([\\d.]+) s/
  while (Number(told.exec((await ask('/livez')).text)?.[1] ?? 0) < stallSeconds);
  const seen = []
  for (const path of paths) seen.push(await ask(path))
  parentPort.postMessage(seen)
}
run().finally(() => { Atomics.store(done, 0, 1); Atomics.notify(done, 0) })
`

test('a busy main thread is reported, and each probe is answered meanwhile', async () => {
  const { metrics, url } = await open()
  metrics.moves.inc()
  expect(await (await fetch(`${url}/readyz`)).text()).toBe('ok\n')
  await (await fetch(`${url}/metrics`)).text()

  const [livez, readyz, text] = await whileBusy(url, { stallSeconds: 1, paths: ['/livez', '/readyz', '/metrics'] })

  expect(livez).toMatchObject({ status: 200, text: expect.stringMatching(/^ok: the main thread has been busy for/) })
  expect(readyz).toMatchObject({ status: 200, text: 'ok\n' })
  expect(text?.status).toBe(200)
  expect(text?.text).toContain('lodestone_moves_total 1\n')
  expect(Number(/^lodestone_main_thread_stall_seconds (\S+)$/m.exec(text?.text ?? '')?.[1])).toBeGreaterThan(1)
  expect(Number(/^lodestone_metrics_age_seconds (\S+)$/m.exec(text?.text ?? '')?.[1])).toBeGreaterThan(1)
})

test('beyond the configured stall it is not alive, with both lengths', async () => {
  const { url } = await open({ livenessStallMs: 1500 })

  const [livez] = await whileBusy(url, { stallSeconds: 1.6, paths: ['/livez'] })

  expect(livez?.status).toBe(503)
  expect(livez?.text).toMatch(/^not alive: the main thread has been busy for \d\.\d s, longer than 1\.5 s\n$/)
})

test('a stall of more than 5 s is a reason not to be ready, beside the others', async () => {
  const { url } = await open({ reasons: [{ check: 'registration', message: 'webhooks not registered yet' }] })
  expect(await (await fetch(`${url}/readyz`)).text()).toBe('not ready: webhooks not registered yet\n')

  const [readyz] = await whileBusy(url, { stallSeconds: 5.1, paths: ['/readyz'] })

  expect(readyz?.status).toBe(503)
  expect(readyz?.text).toMatch(
    /^not ready: webhooks not registered yet\nnot ready: the main thread has been busy for \d\.\d s\n$/,
  )
})

test.each([
  { query: '', want: 'not ready: kind\nnot ready: draining\n', status: 503 },
  { query: '?exclude=kinds', want: 'not ready: draining\n', status: 503 },
  { query: '?exclude=kinds&exclude=shutdown', want: 'ok\n', status: 200 },
  { query: '?exclude=unknown', want: 'not ready: kind\nnot ready: draining\n', status: 503 },
])('/readyz$query leaves out the checks that it excludes', async ({ query, want, status }) => {
  const { url } = await open({
    reasons: [
      { check: 'kinds', message: 'kind' },
      { check: 'shutdown', message: 'draining' },
    ],
  })
  const response = await fetch(`${url}/readyz${query}`)
  expect([response.status, await response.text()]).toEqual([status, want])
})

test('a metric that fails leaves the last metrics in use, and the process alive', async () => {
  const { metrics, url } = await open()
  metrics.moves.inc()
  const read = async () => (await fetch(`${url}/metrics`)).text()
  await read()

  metrics.observeObjects(() => {
    throw new Error('this object is odd')
  })
  metrics.moves.inc()
  expect(await read()).toContain('lodestone_moves_total 1\n')
  metrics.observeObjects(() => [])
  expect(await read()).toContain('lodestone_moves_total 2\n')
})

test('after a stall everything is fresh again', async () => {
  const { metrics, url } = await open()
  await whileBusy(url, { stallSeconds: 1, paths: ['/metrics'] })

  metrics.moves.inc()
  const text = await (await fetch(`${url}/metrics`)).text()

  expect(text).toContain('lodestone_moves_total 1\n')
  expect(await (await fetch(`${url}/livez`)).text()).toBe('ok\n')
})

test.each([
  { path: '/metric', method: 'GET', status: 404, want: 'path not found; paths are /livez, /readyz, /metrics\n' },
  { path: '/livez', method: 'POST', status: 405, want: 'use GET\n' },
])('$method $path is a $status', async ({ path, method, status, want }) => {
  const { url } = await open()

  const response = await fetch(url + path, { method })

  expect(response.status).toBe(status)
  expect(await response.text()).toBe(want)
})
