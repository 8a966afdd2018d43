// A proxy of a real S3 server that counts the bytes read, and can hold back the objects as long as a test wants.
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Proxy {
  readonly url: string
  // How many bytes of an object (`bucket/key`) were given out, whole answers only.
  bytesOf(object: string): number
  // From now on objects come only so far: after so many bytes of each answer, nothing follows until `release`.
  holdAfter(bytes: number): void
  release(): void
  // Whether an answer is being held back.
  readonly isHolding: boolean
  stop(): Promise<void>
}

export async function startS3Proxy(target: string): Promise<S3Proxy> {
  const bytes = new Map<string, number>()
  let limit = Number.POSITIVE_INFINITY
  let holding = 0
  let released = Promise.withResolvers<void>()

  function answer(incoming: IncomingMessage, outgoing: ServerResponse): void {
    const url = new URL(incoming.url ?? '/', target)
    // The headers as they are, the name of the host above all: they are signed.
    const forward = request(url, { method: incoming.method, headers: incoming.headers, setHost: false })
    forward.on('error', () => outgoing.destroy())
    incoming.on('error', () => forward.destroy()).pipe(forward)
    forward.on('response', (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.rawHeaders)
      const object = decodeURIComponent(url.pathname.slice(1))
      const isObject = incoming.method === 'GET' && /^[^/]+\/.+/.test(object)
      if (isObject && (response.statusCode ?? 500) < 300) void give(object, response, outgoing)
      else response.pipe(outgoing)
    })
  }

  async function give(object: string, response: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    let given = 0
    const gone = new Promise<void>((resolve) => outgoing.once('close', resolve))
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) {
        if (given + chunk.length > limit) {
          holding++
          await Promise.race([released.promise, gone])
          holding--
        }
        if (outgoing.destroyed) return
        outgoing.write(chunk)
        given += chunk.length
      }
      outgoing.end()
    } catch {
      outgoing.destroy()
    } finally {
      bytes.set(object, (bytes.get(object) ?? 0) + given)
    }
  }

  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bytesOf: (object) => bytes.get(object) ?? 0,
    holdAfter(count) {
      limit = count
    },
    release() {
      limit = Number.POSITIVE_INFINITY
      released.resolve()
      released = Promise.withResolvers()
    },
    get isHolding() {
      return holding > 0
    },
    stop: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
