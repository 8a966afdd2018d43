/** Clients that only connect, against the page. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { makeClaim } from '../../../test/builders.ts'
import { openPage } from './ui.fake.ts'

async function connectTo(origin: string): Promise<Socket> {
  const socket = connect(Number(new URL(origin).port), '127.0.0.1')
  onTestFinished(() => void socket.destroy())
  socket.on('error', () => undefined)
  await once(socket, 'connect')
  return socket
}

/** Sends a request on a new connection. Returns it, and the first bytes of the answer. */
async function ask(origin: string, path: string, cookie: string) {
  const socket = await connectTo(origin)
  socket.write(`GET ${path} HTTP/1.1\r\nHost: ${new URL(origin).host}\r\nCookie: ${cookie}\r\n\r\n`)
  const [begin] = await once(socket, 'data')
  return { socket, begin: `${begin}` }
}

test('a thousand idle connections stop neither a reader, nor its events, nor the probe', async () => {
  const { origin, cookie } = await openPage([makeClaim()])
  const follower = await ask(origin, '/v1/events?lists=claims', cookie)
  const idle = await Promise.all(Array.from({ length: 1_001 }, () => connectTo(origin)))

  for (const path of ['/v1/claims', '/livez']) {
    const { begin } = await ask(origin, path, cookie)
    expect(begin).toContain('HTTP/1.1 200 OK')
  }
  expect(follower.socket.closed).toBe(false)
  await expect.poll(() => idle.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(2)
})
