/** Bounds the open connections of a server: beyond the limit, the connection that was of no use for longest is closed. */
import type { Server, Socket } from 'node:net'

export interface Connections {
  /** A request on this connection was answered: it is closed after all that never had an answer. */
  answered(socket: Socket): void
  /** Open connections. */
  count(): number
  /** Closes all, whatever they are doing. */
  destroyAll(): void
}

/**
 * Watches the connections of a server, for TLS from before the handshake. Connections without an answered request are closed first, oldest
 * first; then those whose last answered request is longest ago. A client that only connects therefore keeps no connection from
 * API servers, which use theirs.
 *
 * @param evicted called for each connection that is closed to make room
 */
export function watchConnections(server: Server, limit: number, evicted: () => void): Connections {
  // In the order in which they are closed.
  const unproven = new Set<Socket>()
  const proven = new Set<Socket>()
  const byAddress = new Map<string, Socket>()

  server.on('connection', (socket: Socket) => {
    if (unproven.size + proven.size >= limit) {
      const [oldest] = unproven.size > 0 ? unproven : proven
      forget(oldest)
      oldest?.destroy()
      evicted()
    }
    const address = addressOf(socket)
    unproven.add(socket)
    byAddress.set(address, socket)
    socket.once('close', () => {
      forget(socket)
      if (byAddress.get(address) === socket) byAddress.delete(address)
    })
  })

  function forget(socket: Socket | undefined): void {
    if (socket && !unproven.delete(socket)) proven.delete(socket)
  }

  return {
    answered(socket) {
      // With TLS this is a socket of its own around the one that was accepted; what they share is the address.
      const accepted = byAddress.get(addressOf(socket))
      if (!accepted || accepted.destroyed) return
      forget(accepted)
      proven.add(accepted)
    },
    count: () => unproven.size + proven.size,
    destroyAll() {
      for (const socket of [...unproven, ...proven]) socket.destroy()
    },
  }
}

function addressOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
