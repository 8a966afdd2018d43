// Listens on an address only if it is free.
import { createServer, type ListenOptions, type Server } from 'node:net'

// Undefined if the address is in use.
export function listening(address: ListenOptions): Promise<Server | undefined> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
    )
    server.listen(address, () => resolve(server))
  })
}
