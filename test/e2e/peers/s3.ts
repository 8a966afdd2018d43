// A real S3-compatible server (Versity S3 Gateway over a local folder) on 127.0.0.1.
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, type Dispatcher, request } from 'undici'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { launchPeer, type Peer, type PeerOptions } from './peer-process.ts'
import { type Credentials, encodeSegment, signatureHeaders } from './sigv4.ts'

const mainPackage = 'github.com/versity/versitygw/cmd/versitygw'

export interface S3Options extends PeerOptions {
  // A server has one region, and all its buckets are in it.
  region?: string
  // Of its one user.
  accessKey?: string
  secretKey?: string
  // Serves HTTPS with these; the CA signed the certificate, for 127.0.0.1.
  tls?: { certPem: string; keyPem: string; caPem: string }
}

export interface S3Answer {
  status: number
  headers: Record<string, string>
  text: string
}

// Path style only: http://127.0.0.1:<port>/<bucket>/<key>
export interface S3 extends Peer, Readonly<Credentials> {
  readonly url: string
  createBucket(name: string): Promise<void>
  putObject(bucket: string, key: string, bytes: Uint8Array | string): Promise<void>
  deleteObject(bucket: string, key: string): Promise<void>
  // An empty one.
  deleteBucket(name: string): Promise<void>
  // Any other request, signed; whatever status is an answer.
  request(method: string, path: string, body?: Uint8Array, headers?: Record<string, string>): Promise<S3Answer>
}

export async function startS3(dir: string, options: S3Options = {}): Promise<S3> {
  const name = options.name ?? 's3'
  const program = await ensureS3()
  const [port = 0] = await freePorts(1)
  const { tls } = options
  const url = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const dispatcher = tls && new Agent({ connect: { ca: tls.caPem } })
  const credentials = {
    accessKey: options.accessKey ?? 'LODESTONE',
    secretKey: options.secretKey ?? 'lodestone-secret',
    region: options.region ?? 'eu-north-1',
  }
  const [buckets, metadata] = [join(dir, name, 'buckets'), join(dir, name, 'metadata')]
  await Promise.all([buckets, metadata].map((folder) => mkdir(folder, { recursive: true })))
  const { accessKey, secretKey, region } = credentials
  const [cert, key] = [join(dir, name, 'tls.crt'), join(dir, name, 'tls.key')]
  if (tls) await Promise.all([writeFile(cert, tls.certPem), writeFile(key, tls.keyPem)])
  const peer = await launchPeer({
    name,
    dir,
    command: program,
    args: [
      // This server keeps connections open only with the option.
      '--keep-alive',
      ...['--access', accessKey, '--secret', secretKey, '--region', region, '--port', `127.0.0.1:${port}`],
      ...(tls ? ['--cert', cert, '--key', key] : []),
      // Metadata in files of their own: not every file system of a test machine has extended attributes.
      ...['posix', '--sidecar', metadata, buckets],
    ],
    ready: async () => (await send({ url, dispatcher }, credentials, 'GET', '/')).status === 200,
  })
  const signed: S3['request'] = (method, path, body, headers) =>
    send({ url, dispatcher }, credentials, method, path, body, headers)
  const expectOk = async (method: string, path: string, body?: Uint8Array) => {
    const { status, text } = await signed(method, path, body)
    if (status >= 300) throw new Error(`S3 ${method} ${path} answers ${status}: ${text}`)
  }
  return Object.assign(peer, credentials, {
    url,
    request: signed,
    createBucket: (bucket: string) => expectOk('PUT', pathOf(bucket)),
    deleteBucket: (bucket: string) => expectOk('DELETE', pathOf(bucket)),
    putObject: (bucket: string, key: string, bytes: Uint8Array | string) =>
      expectOk('PUT', pathOf(bucket, key), Buffer.from(bytes)),
    deleteObject: (bucket: string, key: string) => expectOk('DELETE', pathOf(bucket, key)),
  })
}

async function ensureS3(): Promise<string> {
  const folder = await builtOnce({
    peer: 's3',
    what: 'the Versity S3 Gateway',
    runtime: 'go',
    args: (into) => ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(into, 'versitygw'), mainPackage],
  })
  return join(folder, 'versitygw')
}

async function send(
  server: { url: string; dispatcher: Dispatcher | undefined },
  credentials: Credentials,
  method: string,
  path: string,
  body: Uint8Array = new Uint8Array(),
  further: Record<string, string> = {},
): Promise<S3Answer> {
  const url = new URL(path, server.url)
  const headers = signatureHeaders({ method, url, body, headers: further }, credentials)
  const answer = await request(url, {
    method: method as 'GET',
    headers,
    body: body.length > 0 ? body : null,
    ...(server.dispatcher && { dispatcher: server.dispatcher }),
  })
  return {
    status: answer.statusCode,
    headers: answer.headers as Record<string, string>,
    text: await answer.body.text(),
  }
}

function pathOf(bucket: string, key = ''): string {
  return `/${[bucket, ...(key ? key.split('/') : [])].map(encodeSegment).join('/')}`
}

// `node test/e2e/peers/s3.ts` builds ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureS3())
