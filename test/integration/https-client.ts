/** Speaks to a server under test as kube-apiserver does, and as no client should. */
import { request } from 'node:https'
import { connect } from 'node:tls'

export interface HttpAnswer {
  status: number
  headers: Record<string, string | string[] | undefined>
  body: string
}

export interface CallOptions {
  port: number
  ca: string
  method?: string
  path?: string
  contentType?: string
  body?: string | Buffer
  /** A client certificate. */
  client?: { key: string; certificate: string }
}

/** One request on a connection of its own. */
export function call({
  port,
  ca,
  method = 'POST',
  path = '/',
  contentType = 'application/json',
  body = '',
  client,
}: CallOptions): Promise<HttpAnswer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(
      {
        host: '127.0.0.1',
        port,
        ca,
        method,
        path,
        agent: false,
        ...(client && { key: client.key, cert: client.certificate }),
        headers: { 'content-type': contentType, 'content-length': Buffer.byteLength(body) },
      },
      (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            headers: response.headers,
            body: Buffer.concat(chunks).toString(),
          }),
        )
        response.on('error', reject)
      },
    )
    // A server that refuses a large body early may close under the rest of it; what counts is its answer.
    outgoing.on('error', (error: NodeJS.ErrnoException) => (error.code === 'EPIPE' ? undefined : reject(error)))
    outgoing.end(body)
  })
}

/** Writes raw bytes and gives everything that comes back until the connection ends. */
export function raw({
  port,
  ca,
  bytes,
  end,
}: {
  port: number
  ca: string
  bytes: string
  end?: boolean
}): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = ''
    const socket = connect({ host: '127.0.0.1', port, ca, servername: 'localhost' }, () => {
      socket.write(bytes)
      if (end) socket.end()
    })
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString()
    })
    socket.on('close', () => resolve(text))
    socket.on('error', reject)
  })
}
