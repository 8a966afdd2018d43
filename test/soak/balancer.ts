// A TCP balancer in front of replicas, as a Service is: connections go to those that say that they are ready.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { request } from 'undici'

interface Backend {
  port: number
  healthUrl: string
}

export interface Balancer {
  readonly port: number
  readonly backends: Backend[]
  stop(): Promise<void>
}

const intervalMs = 250

export async function startBalancer(): Promise<Balancer> {
  const backends: Backend[] = []
  const sockets = new Set<Socket>()
  let ready: Backend[] = []
  let turn = 0
  let stopped = false

  const server = createServer((client) => {
    const backend = ready[turn++ % Math.max(ready.length, 1)]
    if (!backend) {
      client.destroy()
      return
    }
    const upstream = connect(backend.port, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      // Either side may reset the connection: the other one hears of it.
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
      one.pipe(other)
    }
  })

  async function follow(): Promise<void> {
    while (!stopped) {
      const states = await Promise.all(backends.map(async (backend) => ((await isReady(backend)) ? [backend] : [])))
      ready = states.flat()
      await sleep(intervalMs)
    }
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const following = follow()
  return {
    port: (server.address() as AddressInfo).port,
    backends,
    async stop() {
      stopped = true
      for (const socket of sockets) socket.destroy()
      server.close()
      await following
    },
  }
}

async function isReady({ healthUrl }: Backend): Promise<boolean> {
  try {
    const { statusCode, body } = await request(`${healthUrl}/readyz`, { headersTimeout: 1_000 })
    await body.dump()
    return statusCode === 200
  } catch {
    // It refuses the connection, or takes too long: it is away.
    return false
  }
}
