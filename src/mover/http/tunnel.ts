/** Opens a tunnel to a server through an HTTP proxy, with the method CONNECT. */
import type { Socket } from 'node:net'
import { ProtocolError, ResponseReader } from './response-reader.ts'

/** Resolves when the proxy has opened the tunnel. The socket has a timeout already. */
export function openTunnel(socket: Socket, authority: string, headers: Record<string, string>): Promise<Socket> {
  const lines = Object.entries({ host: authority, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.write(`CONNECT ${authority} HTTP/1.1\r\n${lines.join('')}\r\n`)
  const reader = new ResponseReader('CONNECT')
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      socket.destroy()
      reject(error)
    }
    const close = () => fail(new Error('the proxy closed the connection'))
    const expire = () => fail(new Error('the proxy does not answer'))
    const read = (data: Buffer) => {
      try {
        const step = reader.next(data, 0)
        if (step.kind !== 'head') return
        if (step.head.status !== 200) return fail(new Error(`the proxy answers CONNECT with ${step.head.status}`))
      } catch (error) {
        if (!(error instanceof ProtocolError)) throw error
        fail(error)
        return
      }
      socket.off('data', read).off('error', fail).off('close', close).off('timeout', expire)
      resolve(socket)
    }
    socket.on('data', read).on('error', fail).on('close', close).on('timeout', expire)
  })
}
