// Stands for a Service: gives new TCP connections to the replicas whose /readyz says that they are ready, and leaves open ones alone.

import type { AddressInfo } from 'node:net'
import { connect, createServer, type Socket } from 'node:net'
import { request } from 'undici'

export interface Backend {
  port: number
  healthUrl: string
}

export interface Balancer {
  readonly port: number
  add(backend: Backend): void
  remove(backend: Backend): void
  isReady(backend: Backend): boolean
  stop(): Promise<void>
}

// What a kubelet, the endpoints controller and kube-proxy take together at their fastest.
const PROBE_INTERVAL_MS = 250

export async function startBalancer(): Promise<Balancer> {
  const backends = new Map<Backend, { isReady: boolean; probe: NodeJS.Timeout }>()
  const sockets = new Set<Socket>()
  let next = 0

  async function probe(backend: Backend): Promise<void> {
    const isReady = await answersOk(`${backend.healthUrl}/readyz`)
    const known = backends.get(backend)
    if (known) known.isReady = isReady
  }

  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    const ready = [...backends].filter(([, { isReady }]) => isReady)
    const [backend] = ready[next++ % ready.length] ?? []
    // As a Service without endpoints: refused.
    if (!backend) return void client.resetAndDestroy()
    const upstream = connect({ host: '127.0.0.1', port: backend.port, allowHalfOpen: true, noDelay: true })
    join(client, upstream)
    join(upstream, client)
  })

  function join(from: Socket, to: Socket): void {
    sockets.add(from)
    from.pipe(to)
    from.on('error', () => to.resetAndDestroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroySoon()
    })
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    add: (backend) =>
      void backends.set(backend, {
        isReady: false,
        probe: setInterval(() => void probe(backend), PROBE_INTERVAL_MS),
      }),
    remove(backend) {
      clearInterval(backends.get(backend)?.probe)
      backends.delete(backend)
    },
    isReady: (backend) => backends.get(backend)?.isReady ?? false,
    async stop() {
      for (const { probe } of backends.values()) clearInterval(probe)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const { statusCode, body } = await request(url, { headersTimeout: 1000 })
    await body.dump()
    return statusCode === 200
  } catch {
    // Nothing listens there any more, or not yet.
    return false
  }
}
