// A network between a client and a server that a test interrupts: packets are lost, or connections are refused.
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

export interface FaultyNetwork {
  // The address of the client side: a host and a port.
  readonly host: string
  // As after a failed router: connections stay open, and nothing arrives any more.
  losePackets(): void
  // As without a listener: all connections end, and new ones are closed at once.
  refuse(): void
  // New connections work. Those that lost packets end.
  repair(): void
  stop(): Promise<void>
}

/** Forwards TCP connections to a port on loopback. */
export async function startFaultyNetwork(port: number): Promise<FaultyNetwork> {
  const sockets = new Set<Socket>()
  let state: 'works' | 'loses packets' | 'refuses' = 'works'

  const server = createServer((client) => {
    track(client)
    if (state === 'refuses') return void client.resetAndDestroy()
    if (state === 'loses packets') return void client.pause()
    const upstream = track(connect({ host: '127.0.0.1', port }))
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      from.on('data', (data) => {
        if (state === 'works') to.write(data)
      })
      from.once('close', () => {
        if (state !== 'loses packets') to.destroy()
      })
    }
  })

  function track(socket: Socket): Socket {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
    socket.once('close', () => sockets.delete(socket))
    return socket
  }
  function endAll(): void {
    for (const socket of sockets) socket.destroy()
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    losePackets() {
      state = 'loses packets'
    },
    refuse() {
      state = 'refuses'
      endAll()
    },
    repair() {
      state = 'works'
      endAll()
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        endAll()
      }),
  }
}
