/** The mover's HTTP client: connections that are kept, broken, encrypted, led through a proxy, or slow. */
import { randomBytes } from 'node:crypto'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import {
  type AddressInfo,
  connect,
  createServer as createTcpServer,
  type Socket,
  type Server as TcpServer,
} from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { RetryableError } from '../../src/mover/http/backoff.ts'
import { type HttpClient, type HttpClientOptions, openHttpClient } from '../../src/mover/http/client.ts'
import { MoverError } from '../../src/mover/mover-error.ts'
import { makeLeaf } from '../../src/tls/leaf.ts'
import { makeAuthority } from '../../src/tls/renewal.ts'

const DAY_MS = 86_400_000
const never = new AbortController().signal

async function listen<Kind extends Server | TcpServer>(server: Kind): Promise<{ server: Kind; port: number }> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { server, port: (server.address() as AddressInfo).port }
}

function open(options: Partial<HttpClientOptions> = {}): HttpClient {
  const http = openHttpClient({ env: {}, localNetworks: ['127.0.0.0/8'], ...options })
  onTestFinished(() => http.close())
  return http
}

const get = (port: number, path = '/', protocol = 'http') =>
  ({ method: 'GET', origin: `${protocol}://127.0.0.1:${port}`, path, headers: {} }) as const

/** Receives a body. The buffer of a chunk is used again after the call. */
async function body(http: HttpClient, request: ReturnType<typeof get>): Promise<Buffer> {
  const chunks: Buffer[] = []
  await http.send(request, never, () => (chunk) => void chunks.push(Buffer.from(chunk)))
  return Buffer.concat(chunks)
}

const large = randomBytes(5 * 1024 * 1024 + 3)
const serveLarge: RequestListener = (request, response) => {
  if (request.url === '/chunks') response.setHeader('transfer-encoding', 'chunked')
  else if (request.url === '/closing') response.setHeader('connection', 'close')
  else response.setHeader('content-length', large.length)
  response.end(large)
}

test.each([{ path: '/' }, { path: '/chunks' }, { path: '/closing' }])(
  'a body of several buffers comes whole and in order ($path)',
  async ({ path }) => {
    const { port } = await listen(createServer(serveLarge))

    expect((await body(open(), get(port, path))).equals(large)).toBe(true)
  },
)

describe('connections', () => {
  test('are used again', async () => {
    const { server, port } = await listen(createServer(serveLarge))
    let connections = 0
    server.on('connection', () => (connections += 1))
    const http = open()

    for (let i = 0; i < 3; i++) await body(http, get(port))
    expect(connections).toBe(1)
  })

  test('that the server closed while they were idle are no failure', async () => {
    const used = new Set<Socket>()
    const { port } = await listen(
      createServer(({ socket }, response) => {
        if (used.has(socket)) return void socket.destroy()
        used.add(socket)
        response.end('x')
      }),
    )
    const http = open()

    for (let i = 0; i < 3; i++) expect((await http.send(get(port), never)).text).toBe('x')
    expect(used.size).toBe(3)
  })

  test('that break are retryable errors with the request in them, and no query', async () => {
    const { port } = await listen(createServer((request) => request.socket.destroy()))

    const failed = open().send(get(port, '/bucket/key?X-Amz-Signature=secret'), never)

    await expect(failed).rejects.toThrow(RetryableError)
    await expect(failed).rejects.toThrow(`GET http://127.0.0.1:${port}/bucket/key: `)
    await expect(failed).rejects.not.toThrow('secret')
  })

  test('on which nothing comes are given up', async () => {
    const { port } = await listen(createServer(() => {}))

    await expect(open({ stallMs: 50 }).send(get(port), never)).rejects.toThrow('no data for 0.05 s')
  })

  test('are not given up while the disk is slow', async () => {
    const { port } = await listen(createServer(serveLarge))
    let isFirst = true
    const sinkFor = () => () => {
      if (isFirst) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700)
      isFirst = false
    }

    expect((await open({ stallMs: 500 }).send(get(port), never, sinkFor)).status).toBe(200)
  })
})

describe('a response that is not HTTP/1.1 is a failure that a retry may not have', () => {
  const ok = 'HTTP/1.1 200 OK\r\n'
  const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

  test.each([
    { what: 'another protocol', bytes: 'SSH-2.0-OpenSSH\r\n\r\n' },
    { what: 'an invalid status', bytes: 'HTTP/1.1 2000 OK\r\n\r\n' },
    { what: 'a header without a name', bytes: `${ok}: x\r\n\r\n` },
    { what: 'a header over two lines', bytes: `${ok}A: 1\r\n 2\r\n\r\n` },
    { what: 'a space before a colon', bytes: `${ok}Content-Length : 5\r\n\r\nhello` },
    { what: 'two lengths', bytes: `${ok}Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello` },
    { what: 'a negative length', bytes: `${ok}Content-Length: -5\r\n\r\n` },
    { what: 'a body that is shorter than its length', bytes: `${ok}Content-Length: 9\r\n\r\nhello` },
    { what: 'a chunk without a size', bytes: `${chunked}x\r\n` },
    { what: 'a chunk that is longer than its size', bytes: `${chunked}1\r\nab\r\n` },
    { what: 'a body that ends before its last chunk', bytes: `${chunked}5\r\nhello\r\n` },
    { what: 'a head without an end', bytes: `${ok}A: ${'x'.repeat(70_000)}` },
    { what: 'endless headers', bytes: ok + 'a: b\r\n'.repeat(50_000) },
    { what: 'endless informational responses', bytes: 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(50_000) },
    { what: 'endless trailers', bytes: `${chunked}0\r\n${'a: b\r\n'.repeat(50_000)}` },
    { what: 'endless extensions of a chunk', bytes: `${chunked}5${';a=b'.repeat(50_000)}` },
  ])('$what', async ({ bytes }) => {
    const { port } = await listen(
      createTcpServer((socket) => socket.on('error', () => undefined).once('data', () => socket.end(bytes))),
    )

    await expect(open().send(get(port), never)).rejects.toThrow(RetryableError)
  })

  test('a response larger than the limit is rejected', async () => {
    const { port } = await listen(createServer((_, response) => response.end(Buffer.alloc(17 * 1024 * 1024))))

    await expect(open().send(get(port), never)).rejects.toThrow('the response is larger than 16 MiB')
  })
})

test('of a large error response, only the begin is kept', async () => {
  const page = `<Code>SlowDown</Code>${'x'.repeat(1024 * 1024)}`
  const { port } = await listen(createServer((_, response) => response.writeHead(503).end(page)))

  const { status, text } = await open().send(get(port), never, () => undefined)

  expect(status).toBe(503)
  expect(text).toMatch(/^<Code>SlowDown<\/Code>/)
  expect(text.length).toBeLessThanOrEqual(64 * 1024)
})

test('a header with a line break is not sent', async () => {
  const { server, port } = await listen(createServer(serveLarge))
  let connections = 0
  server.on('connection', () => (connections += 1))

  const failed = open().send({ ...get(port), headers: { 'if-match': 'e\r\nx-injected: 1' } }, never)

  await expect(failed).rejects.toThrow(MoverError)
  expect(connections).toBe(0)
})

describe('a request that is aborted', () => {
  test('ends immediately in the middle of a body', async () => {
    const { port } = await listen(
      createServer((_, response) => response.writeHead(200, { 'content-length': 10 }).write('12345')),
    )
    const ending = new AbortController()
    const reason = new Error('stop')

    const failed = open().send(get(port), ending.signal, () => () => void ending.abort(reason))

    await expect(failed).rejects.toBe(reason)
  })

  test('ends immediately while the connection is opened', async () => {
    const ending = new AbortController()
    const reason = new Error('stop')
    const { port } = await listen(createTcpServer(() => ending.abort(reason)))

    await expect(open().send(get(port, '/', 'https'), ending.signal)).rejects.toBe(reason)
  })
})

test('an error of the disk is thrown as it is', async () => {
  const { port } = await listen(createServer(serveLarge))
  const full = Object.assign(new Error('full'), { code: 'ENOSPC' })
  const sinkFor = () => () => {
    throw full
  }

  await expect(open().send(get(port), never, sinkFor)).rejects.toBe(full)
})

describe('over TLS', () => {
  test('certificates that are given are trusted, and others are refused for good', async () => {
    const now = Date.now()
    const authority = await makeAuthority(now)
    const leaf = await makeLeaf({ ca: authority, hosts: ['127.0.0.1', 'localhost'], now })
    const { port } = await listen(createTlsServer({ cert: leaf.certPem, key: leaf.keyPem }, serveLarge))

    expect((await body(open({ ca: authority.certPem }), get(port, '/', 'https'))).equals(large)).toBe(true)
    const refused = open().send(get(port, '/', 'https'), never)
    await expect(refused).rejects.toThrow(MoverError)
    await expect(refused).rejects.toThrow('--ca-file names the certificates to trust')
  })

  test.each([
    { name: 'for another name', host: 's3.example.org', age: 0, code: 'Rejected', want: 'name the server as its cert' },
    { name: 'that has expired', host: '127.0.0.1', age: 400 * DAY_MS, code: 'Rejected', want: 'renew the certificate' },
    { name: 'that begins later', host: '127.0.0.1', age: -400 * DAY_MS, code: 'ClockSkew', want: 'clock of the node' },
  ])('a trusted certificate $name is refused as $code with its own remedy', async ({ host, age, code, want }) => {
    const now = Date.now() - age
    const authority = await makeAuthority(now)
    const leaf = await makeLeaf({ ca: authority, hosts: [host], now })
    const { port } = await listen(createTlsServer({ cert: leaf.certPem, key: leaf.keyPem }, serveLarge))

    const refused = open({ ca: authority.certPem }).send(get(port, '/', 'https'), never)

    await expect(refused).rejects.toMatchObject({ code, message: expect.stringContaining(want) })
  })

  test('a server without TLS is refused with its own remedy', async () => {
    const { port } = await listen(createServer(serveLarge))

    const refused = open().send(get(port, '/', 'https'), never)

    await expect(refused).rejects.toMatchObject({ code: 'Rejected', message: expect.stringContaining('with http://') })
  })
})

describe('through a proxy', () => {
  async function startProxy(tls?: { cert: string; key: string }) {
    const asked: string[] = []
    const answer: RequestListener = (request, response) => {
      asked.push(`${request.method} ${request.url} ${request.headers['proxy-authorization']}`)
      response.end('from the proxy')
    }
    const proxy = tls ? createTlsServer(tls, answer) : createServer(answer)
    proxy.on('connect', (request, socket) => {
      asked.push(`CONNECT ${request.url} ${request.headers['proxy-authorization']}`)
      const through = connect(Number(request.url?.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
        through.pipe(socket).pipe(through)
      })
      through.on('error', () => socket.destroy())
      socket.on('error', () => through.destroy())
    })
    const { port } = await listen(proxy)
    return { asked, url: `${tls ? 'https' : 'http'}://me:secret@127.0.0.1:${port}` }
  }
  const basic = `Basic ${Buffer.from('me:secret').toString('base64')}`

  test('plain requests name the whole URL', async () => {
    const { asked, url } = await startProxy()

    const { text } = await open({ env: { HTTP_PROXY: url } }).send(get(9, '/bucket/key'), never)

    expect(text).toBe('from the proxy')
    expect(asked).toEqual([`GET http://127.0.0.1:9/bucket/key ${basic}`])
  })

  test('encrypted ones go through a tunnel, and the proxy sees nothing of them', async () => {
    const { asked, url } = await startProxy()
    const now = Date.now()
    const authority = await makeAuthority(now)
    const leaf = await makeLeaf({ ca: authority, hosts: ['127.0.0.1'], now })
    const { port } = await listen(createTlsServer({ cert: leaf.certPem, key: leaf.keyPem }, serveLarge))
    const http = open({ ca: authority.certPem, env: { HTTPS_PROXY: url } })

    expect((await body(http, get(port, '/', 'https'))).equals(large)).toBe(true)
    expect(asked).toEqual([`CONNECT 127.0.0.1:${port} ${basic}`])
  })

  test('a proxy with TLS is used if the system trusts its certificate', async () => {
    const now = Date.now()
    const authority = await makeAuthority(now)
    const leaf = await makeLeaf({ ca: authority, hosts: ['127.0.0.1'], now })
    const { asked, url } = await startProxy({ cert: leaf.certPem, key: leaf.keyPem })
    const { port } = await listen(createTlsServer({ cert: leaf.certPem, key: leaf.keyPem }, serveLarge))
    const http = () => open({ ca: authority.certPem, env: { HTTPS_PROXY: url, HTTP_PROXY: url } })
    await expect(http().send(get(9), never)).rejects.toThrow(MoverError)
    expect(asked).toEqual([])

    const system = getCACertificates('default')
    onTestFinished(() => setDefaultCACertificates(system))
    setDefaultCACertificates([...system, authority.certPem])

    expect((await http().send(get(9, '/key'), never)).text).toBe('from the proxy')
    expect((await body(http(), get(port, '/', 'https'))).equals(large)).toBe(true)
    expect(asked).toEqual([`GET http://127.0.0.1:9/key ${basic}`, `CONNECT 127.0.0.1:${port} ${basic}`])
  })

  test.each(['socks5://127.0.0.1:9', 'proxy.example.org:3128'])('%s is no proxy that works', async (url) => {
    const failed = open({ env: { HTTP_PROXY: url } }).send(get(9), never)

    await expect(failed).rejects.toThrow('the proxy must be an http or https URL')
  })

  test('a password with an invalid escape is rejected with the remedy', async () => {
    const failed = open({ env: { HTTP_PROXY: 'http://me:100%@127.0.0.1:9' } }).send(get(9), never)

    await expect(failed).rejects.toThrow('write % as %25')
  })

  test('a proxy that rejects the connection is an error with its status', async () => {
    const proxy = createServer()
    proxy.on('connect', (_, socket) => socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'))
    const { port } = await listen(proxy)

    const failed = open({ env: { HTTPS_PROXY: `http://127.0.0.1:${port}` } }).send(get(9, '/', 'https'), never)

    await expect(failed).rejects.toThrow('the proxy answers CONNECT with 407')
  })
})
