/** Clients that send slowly, nothing or too much, against the HTTPS server: other callers are answered, and a stop ends in time. */
import { Agent, request } from 'node:https'
import { connect as connectTcp, type Socket } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { REVIEW_PATH, type RunningServer, review, startServer } from './admission-server.ts'
import { call, raw } from './https-client.ts'

const MEBIBYTE = 1024 * 1024

const head = (length: number) =>
  `POST ${REVIEW_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n`

function post({ port, ca }: RunningServer, body = review) {
  return call({ port, ca, path: REVIEW_PATH, body })
}

/** A TLS connection of a client that means no good; what comes back is in `text`. */
async function open({ port, ca }: RunningServer, bytes: string | Buffer = '') {
  const client = { socket: undefined as unknown as TLSSocket, text: '', isClosed: false }
  await new Promise<void>((resolve, reject) => {
    client.socket = connectTls({ host: '127.0.0.1', port, ca }, () => {
      client.socket.write(bytes)
      resolve()
    })
    client.socket.once('error', reject)
  })
  track(client.socket)
  client.socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString()
  })
  client.socket.on('close', () => {
    client.isClosed = true
  })
  return client
}

function openTcp({ port }: RunningServer): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connectTcp({ host: '127.0.0.1', port, allowHalfOpen: true }, () => resolve(socket))
    track(socket)
  })
}

function track(socket: Socket): void {
  socket.on('error', () => undefined)
  onTestFinished(() => void socket.destroy())
}

/** Reviews on one connection that is kept. */
function keepAlive({ port, ca }: RunningServer) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ca })
  onTestFinished(() => agent.destroy())
  return (path = REVIEW_PATH) =>
    new Promise<{ status: number | undefined; reused: boolean; connection: string | undefined }>((resolve, reject) => {
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(review) }
      const outgoing = request({ host: '127.0.0.1', port, path, method: 'POST', agent, headers }, (response) => {
        const { connection } = response.headers
        response
          .resume()
          .on('end', () => resolve({ status: response.statusCode, reused: outgoing.reusedSocket, connection }))
      })
      outgoing.on('error', reject)
      outgoing.end(review)
    })
}

test('257 connections that announce a body and send none stop no other request', async () => {
  const running = await startServer()
  await Promise.all(Array.from({ length: 257 }, () => open(running, head(7 * MEBIBYTE))))

  expect((await post(running)).status).toBe(200)
  expect(await running.figure('controller_runtime_webhook_requests_in_flight')).toBe(0)
})

test('unfinished bodies have a budget: the largest gets 503, complete ones an answer', async () => {
  const running = await startServer({ limits: { bytesInFlight: 2 * MEBIBYTE } })
  const part = Buffer.concat([Buffer.from(head(7 * MEBIBYTE)), Buffer.alloc(MEBIBYTE, ' ')])
  const senders = await Promise.all(Array.from({ length: 8 }, () => open(running, part)))
  await expect.poll(() => senders.filter(({ isClosed }) => isClosed).length).toBeGreaterThanOrEqual(6)

  const large = JSON.stringify({ ...JSON.parse(review), padding: 'x'.repeat(MEBIBYTE / 2) })
  expect((await post(running, large)).status).toBe(200)
  expect((await post(running)).status).toBe(200)

  const refused = senders.filter(({ text }) => text !== '')
  for (const { text } of refused) {
    expect(text).toMatch(/^HTTP\/1\.1 503 /)
    expect(text.toLowerCase()).toContain('retry-after: 1\r\n')
    expect(text.toLowerCase()).toContain('connection: close\r\n')
  }
  expect(refused.length).toBeGreaterThan(0)
  expect(await running.figure('lodestone_bytes_in_flight')).toBeLessThanOrEqual(2 * MEBIBYTE)
  expect(await running.figure('lodestone_requests_shed_total{reason="bytes"}')).toBeGreaterThanOrEqual(6)
})

test('a body in pieces of one byte counts for what it occupies, and is read whole', async () => {
  const running = await startServer()
  const pieces = [...Buffer.from(review)].map((byte) => `1\r\n${String.fromCharCode(byte)}\r\n`).join('')

  const text = await raw({
    ...running,
    bytes: `POST ${REVIEW_PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${pieces}0\r\n\r\n`,
  })

  expect(text).toMatch(/^HTTP\/1\.1 200 OK/)
  await expect.poll(() => running.figure('lodestone_bytes_in_flight')).toBe(0)
})

test('of more complete requests than the limit, the rest get 503 with Retry-After', async () => {
  const running = await startServer({ limits: { inFlight: 4 } })
  const one = head(Buffer.byteLength(review)) + review
  const last = one.replace('Host: x', 'Host: x\r\nConnection: close')

  const text = await raw({ ...running, bytes: one.repeat(9) + last })

  const statuses = [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
  expect(statuses).toHaveLength(10)
  // The first of all is decided when it comes; the next four wait for the end of the turn.
  expect(statuses.filter((status) => status === '200')).toHaveLength(5)
  expect(statuses.filter((status) => status === '503')).toHaveLength(5)
  expect(text.toLowerCase()).toContain('retry-after: 1\r\n')
  expect(await running.figure('lodestone_requests_shed_total{reason="in-flight"}')).toBe(5)
})

test('complete large requests that wait have the same budget, and delay no small one', async () => {
  const running = await startServer({ limits: { bytesInFlight: 4 * MEBIBYTE } })
  const large = JSON.stringify({ ...JSON.parse(review), padding: 'x'.repeat(MEBIBYTE) })

  const [small, ...answers] = await Promise.all([
    post(running),
    ...Array.from({ length: 12 }, () => post(running, large)),
  ])

  expect(small?.status).toBe(200)
  for (const { status, headers } of answers) {
    expect([200, 503]).toContain(status)
    expect(headers['retry-after']).toBe(status === 503 ? '1' : undefined)
  }
  expect(answers.map(({ status }) => status)).toContain(200)
  await expect.poll(() => running.figure('lodestone_bytes_in_flight')).toBe(0)
})

test('a caller that left while its request waited leaves no answer in the budget', async () => {
  const running = await startServer()
  const body = JSON.stringify({ ...JSON.parse(review), padding: 'x'.repeat(MEBIBYTE / 4) })
  const request = head(Buffer.byteLength(body)) + body
  const clients = await Promise.all(Array.from({ length: 24 }, () => open(running)))

  for (const { socket } of clients) socket.write(request, () => socket.destroy())

  await expect.poll(() => running.figure('lodestone_connections')).toBe(0)
  await expect.poll(() => running.figure('controller_runtime_webhook_requests_in_flight')).toBe(0)
  await expect.poll(() => running.figure('lodestone_bytes_in_flight')).toBe(0)
})

test('an answer counts before it is sent: without room it becomes HTTP 503', async () => {
  const running = await startServer({ limits: { bytesInFlight: 64 * 1024 } })
  const tasks = Array.from({ length: 100 }, () => ({ template: { spec: { containers: [{ name: 'main' }] } } }))
  const request = {
    uid: 'u1',
    kind: { group: 'batch.volcano.sh', version: 'v1alpha1', kind: 'Job' },
    resource: { group: 'batch.volcano.sh', version: 'v1alpha1', resource: 'jobs' },
    namespace: 'default',
    operation: 'CREATE',
    object: {
      apiVersion: 'batch.volcano.sh/v1alpha1',
      kind: 'Job',
      metadata: {
        name: 'train',
        annotations: {
          'lodestone.dev/volumes': JSON.stringify({ name: 'sales', 'mount-path': `/${'x'.repeat(900)}` }),
        },
      },
      spec: { tasks },
    },
  }
  const body = JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', request })

  const { status, headers, body: text } = await call({ ...running, path: '/mutate/workload', body })

  expect(body.length).toBeLessThan(16 * 1024)
  expect([status, headers['retry-after']]).toEqual([503, '1'])
  expect(JSON.parse(text).error.message).toMatch(
    /^no room for an answer of 1[0-9]{5} bytes; raise server\.maxBytesInFlight$/,
  )
  expect((await post(running)).status).toBe(200)
  expect(await running.figure('lodestone_requests_shed_total{reason="bytes"}')).toBe(1)
  await expect.poll(() => running.figure('lodestone_bytes_in_flight')).toBe(0)
})

test('beyond the limit of connections, unused ones are closed first, the oldest first', async () => {
  const running = await startServer({ limits: { connections: 10 } })
  const send = keepAlive(running)
  expect(await send()).toMatchObject({ status: 200, reused: false })

  const silent = await Promise.all(Array.from({ length: 30 }, () => openTcp(running)))
  const closed = silent.map((socket) => new Promise((resolve) => socket.resume().once('close', resolve)))
  for (const socket of silent) socket.on('end', () => socket.end())
  await Promise.race(closed)

  expect(await send()).toMatchObject({ status: 200, reused: true })
  expect((await post(running)).status).toBe(200)
  expect(await running.figure('lodestone_connections')).toBeLessThanOrEqual(10)
  expect(await running.figure('lodestone_requests_shed_total{reason="connections"}')).toBeGreaterThanOrEqual(20)
})

test('a connection that never starts TLS is closed after its time in any case', async () => {
  const running = await startServer({ limits: { handshakeTimeoutMs: 200 } })
  const socket = await openTcp(running)
  const ended = new Promise((resolve) => socket.resume().once('end', resolve))
  await expect.poll(() => running.figure('lodestone_connections')).toBe(1)

  await ended
  socket.end()

  await expect.poll(() => running.figure('lodestone_connections')).toBe(0)
})

test('a connection without a request is closed after its time', async () => {
  const running = await startServer({ limits: { headersTimeoutMs: 200, connectionCheckMs: 50 } })
  const client = await open(running)

  await expect.poll(() => client.isClosed).toBe(true)
})

test('a connection without a request stays while one with a stalled request is closed', async () => {
  const running = await startServer({ limits: { stalledTimeoutMs: 200, keepAliveTimeoutMs: 60_000 } })
  const unused = await open(running)
  const stalled = await open(running, head(1000))

  await expect.poll(() => stalled.isClosed).toBe(true)
  unused.socket.write(head(Buffer.byteLength(review)) + review)

  await expect.poll(() => unused.text).toContain('HTTP/1.1 200')
  expect(unused.isClosed).toBe(false)
})

test('headers over the limit are refused with 431', async () => {
  const running = await startServer()

  const text = await raw({ ...running, bytes: `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n` })

  expect(text).toMatch(/^HTTP\/1\.1 431 Request Header Fields Too Large\r\n/)
  expect(text).toContain('the headers are too large')
})

test('while it drains every response closes its connection, whatever it says', async () => {
  const running = await startServer()
  const [send, sendElsewhere] = [keepAlive(running), keepAlive(running)]
  expect(await send()).toMatchObject({ status: 200, connection: 'keep-alive' })
  expect(await sendElsewhere()).toMatchObject({ status: 200, connection: 'keep-alive' })

  running.server.drain()

  expect(await send()).toEqual({ status: 200, reused: true, connection: 'close' })
  expect(await sendElsewhere('/nowhere')).toEqual({ status: 404, reused: true, connection: 'close' })
  expect(await send()).toEqual({ status: 200, reused: false, connection: 'close' })
  const bad = await raw({ ...running, bytes: 'POST /%zz HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n' })
  expect(bad.toLowerCase()).toContain('connection: close\r\n')
})

describe('a request that has arrived is answered', () => {
  const request = head(Buffer.byteLength(review)) + review

  test.each([
    { name: 'on an idle connection when the close begins', closeAfterMs: 2500, before: request },
    { name: 'on a new connection when the close ends', closeAfterMs: 1, before: '' },
  ])('$name', async ({ closeAfterMs, before }) => {
    const running = await startServer()
    const client = await open(running, before)
    const isAnswered = (times: number) => client.text.split('HTTP/1.1 200').length > times
    await expect.poll(() => before === '' || isAnswered(1)).toBe(true)

    // The bytes are with the server, and it reads them only in the next iteration of the event loop.
    const write = () => client.socket.write(request)
    if (before === '') setTimeout(write, closeAfterMs)
    else write()
    await running.server.close(closeAfterMs)

    await expect.poll(() => client.isClosed).toBe(true)
    expect(isAnswered(before === '' ? 1 : 2)).toBe(true)
  })
})

test('it closes within the time it is given, whatever is open', async () => {
  const running = await startServer()
  await Promise.all([
    openTcp(running),
    open(running),
    open(running, 'POST / HTTP/1.1\r\nHost:'),
    open(running, head(1000)),
    open(running, `${head(1000)}{"a":`),
  ])
  const send = keepAlive(running)
  expect(await send()).toMatchObject({ status: 200 })
  await expect.poll(() => running.figure('lodestone_connections')).toBe(6)

  const began = performance.now()
  await running.server.close(300)

  // The timeouts of these connections are longer, so that a busy machine does not fail this.
  expect(performance.now() - began).toBeLessThan(20_000)
  await expect.poll(() => running.figure('lodestone_connections')).toBe(0)
})

test('a load balancer that only connects is logged once, and later seldom', async () => {
  const running = await startServer()
  for (let times = 0; times < 5; times++) (await openTcp(running)).end()
  ;(await openTcp(running)).end('GET / HTTP/1.1\r\n\r\n')
  const causes = () => running.lines.filter(({ msg }) => msg === 'connection refused').map(({ code }) => code)

  await expect.poll(() => causes().sort()).toEqual(['ECONNRESET', 'ERR_SSL_HTTP_REQUEST'])
})
