/** Limits the open connections of a server. At the limit, a new connection closes the least useful one. */
import type { Server, Socket } from 'node:net'

export interface Connections {
  /** Reports that a request was answered: connections without an answered request are closed first. */
  answered(socket: Socket): void
  count(): number
  /** Closes all connections immediately. */
  destroyAll(): void
}

/**
 * Watches the connections of a server; with TLS, from before the handshake. Connections without an answered request are closed first,
 * oldest first; then those with the oldest answer. So a client that only connects cannot displace API servers.
 *
 * @param evicted called for each connection that is closed for a new one
 */
export function watchConnections(server: Server, limit: number, evicted: () => void): Connections {
  // In the order in which they are closed.
  const unanswered = new Set<Socket>()
  const answered = new Set<Socket>()
  const byAddress = new Map<string, Socket>()

  server.on('connection', (socket: Socket) => {
    if (unanswered.size + answered.size >= limit) {
      const [oldest] = unanswered.size > 0 ? unanswered : answered
      forget(oldest)
      oldest?.destroy()
      evicted()
    }
    const address = connectionKey(socket)
    unanswered.add(socket)
    byAddress.set(address, socket)
    socket.once('close', () => {
      forget(socket)
      if (byAddress.get(address) === socket) byAddress.delete(address)
    })
  })

  function forget(socket: Socket | undefined): void {
    if (socket && !unanswered.delete(socket)) answered.delete(socket)
  }

  return {
    answered(socket) {
      // With TLS this socket wraps the accepted one; both have the same address.
      const accepted = byAddress.get(connectionKey(socket))
      if (!accepted || accepted.destroyed) return
      forget(accepted)
      answered.add(accepted)
    },
    count: () => unanswered.size + answered.size,
    destroyAll() {
      for (const socket of [...unanswered, ...answered]) socket.destroy()
    },
  }
}

function connectionKey({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}
