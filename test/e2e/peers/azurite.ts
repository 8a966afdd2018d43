// A real server for Azure Blob Storage (Azurite over a local folder) on 127.0.0.1.
import { createHmac, randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { request } from 'undici'
import { freePorts } from '../processes.ts'
import { builtOnce } from './built-once.ts'
import { launchPeer, type Peer, type PeerOptions } from './peer-process.ts'

const version = '2021-02-12'
const sasVersion = '2018-11-09'

export interface BlobAnswer {
  status: number
  headers: Record<string, string>
  body: Buffer
}

// The account is in the path: http://127.0.0.1:<port>/<account>/<container>/<blob>
export interface Azurite extends Peer {
  // With the account.
  readonly url: string
  readonly origin: string
  readonly account: string
  // In base64.
  readonly key: string
  createContainer(name: string, options?: { isPublic?: boolean }): Promise<void>
  // With its MD5, or with another one; `md5: false` leaves it out, as a client that sends blocks may.
  putBlob(container: string, name: string, bytes: Uint8Array | string, options?: PutOptions): Promise<void>
  deleteBlob(container: string, name: string): Promise<void>
  getBlob(container: string, name: string): Promise<BlobAnswer>
  // A SAS token of the account, with rights like `rl` or `rwlc`.
  sasToken(rights: string, expires?: Date): string
}

export interface PutOptions {
  md5?: string | false
  metadata?: Record<string, string>
}

export async function startAzurite(dir: string, { name = 'azurite' }: PeerOptions = {}): Promise<Azurite> {
  const program = await ensureAzurite()
  const [port = 0] = await freePorts(1)
  const origin = `http://127.0.0.1:${port}`
  const account = 'lodestone'
  const key = randomBytes(32).toString('base64')
  const url = `${origin}/${account}`
  const hmac = (text: string) => createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest('base64')

  async function send(
    method: 'GET' | 'PUT' | 'DELETE',
    path: string,
    { query = {}, headers = {}, body = Buffer.alloc(0) }: SendOptions = {},
  ): Promise<BlobAnswer> {
    const own: Record<string, string> = { ...headers, 'x-ms-date': new Date().toUTCString(), 'x-ms-version': version }
    const text = [
      `${method}\n\n\n${body.length || ''}\n${own['content-md5'] ?? ''}\n\n\n\n\n\n\n\n`,
      ...Object.keys(own)
        .filter((header) => header.startsWith('x-ms-'))
        .sort((a, b) => a.localeCompare(b, 'en-US'))
        .map((header) => `${header}:${own[header]}\n`),
      `/${account}/${account}${path}`,
      ...Object.entries(query)
        .sort()
        .map(([parameter, value]) => `\n${parameter}:${value}`),
    ].join('')
    own['authorization'] = `SharedKey ${account}:${hmac(text)}`
    const search = new URLSearchParams(query).toString()
    const target = `${url}${path}${search && `?${search}`}`
    const answer = await request(target, { method, headers: own, body: method === 'PUT' ? body : null })
    return {
      status: answer.statusCode,
      headers: answer.headers as Record<string, string>,
      body: Buffer.from(await answer.body.arrayBuffer()),
    }
  }

  async function expectOk(...of: Parameters<typeof send>): Promise<void> {
    const { status, body } = await send(...of)
    if (status >= 300) throw new Error(`Azurite ${of[0]} ${of[1]} answers ${status}: ${body}`)
  }

  const peer = await launchPeer({
    name,
    dir,
    command: process.execPath,
    args: [
      program,
      ...['--blobHost', '127.0.0.1', '--blobPort', `${port}`, '--location', join(dir, name, 'data')],
      ...['--disableTelemetry', '--silent'],
    ],
    env: { AZURITE_ACCOUNTS: `${account}:${key}` },
    ready: async () => (await send('GET', '/', { query: { comp: 'list' } })).status === 200,
  })
  return Object.assign(peer, {
    url,
    origin,
    account,
    key,
    createContainer: (container: string, { isPublic = false }: { isPublic?: boolean } = {}) =>
      expectOk('PUT', `/${container}`, {
        query: { restype: 'container' },
        headers: isPublic ? { 'x-ms-blob-public-access': 'container' } : {},
      }),
    putBlob: async (
      container: string,
      blob: string,
      bytes: Uint8Array | string,
      { md5, metadata = {} }: PutOptions = {},
    ) => {
      const body = Buffer.from(bytes)
      const named = Object.entries(metadata).map(([field, value]) => [`x-ms-meta-${field}`, value])
      await expectOk('PUT', pathOf(container, blob), {
        body,
        headers: {
          'x-ms-blob-type': 'BlockBlob',
          ...Object.fromEntries(named),
        },
      })
      // The server checks the MD5 of a put, but not that of a change of the properties.
      const headers: Record<string, string> = md5 ? { 'x-ms-blob-content-md5': md5 } : {}
      const query = { comp: 'properties' }
      if (md5 !== undefined) await expectOk('PUT', pathOf(container, blob), { query, headers })
    },
    deleteBlob: (container: string, blob: string) => expectOk('DELETE', pathOf(container, blob)),
    getBlob: (container: string, blob: string) => send('GET', pathOf(container, blob)),
    sasToken: (rights: string, expires = new Date(Date.now() + 3_600_000)) => {
      const expiry = expires.toISOString().replace(/\.\d+/, '')
      const text = [account, rights, 'b', 'co', '', expiry, '', '', sasVersion, ''].join('\n')
      const fields = { sv: sasVersion, ss: 'b', srt: 'co', sp: rights, se: expiry, sig: hmac(text) }
      return new URLSearchParams(fields).toString()
    },
  })
}

interface SendOptions {
  query?: Record<string, string>
  headers?: Record<string, string>
  body?: Buffer
}

async function ensureAzurite(): Promise<string> {
  const folder = await builtOnce({
    peer: 'azurite',
    what: 'Azurite',
    runtime: 'npm',
    copied: ['package.json', 'package-lock.json'],
    args: (into) => ['ci', '--prefix', into, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel', 'error'],
  })
  return join(folder, 'node_modules', 'azurite', 'dist', 'src', 'blob', 'main.js')
}

function pathOf(container: string, blob: string): string {
  return `/${[container, ...blob.split('/')].map(encodeURIComponent).join('/')}`
}

// `node test/e2e/peers/azurite.ts` installs it ahead, for instance as a step of its own in CI.
if (import.meta.main) console.log(await ensureAzurite())
