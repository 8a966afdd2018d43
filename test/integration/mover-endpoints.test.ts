/** To which servers a mover talks, and to which it sends its credentials: never to one that a tenant could not reach by itself. */
import type { LookupAddress } from 'node:dns'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { runCli } from '../../src/cli/index.ts'
import { openHttpClient } from '../../src/mover/http/client.ts'
import { MoverError } from '../../src/mover/mover-error.ts'
import { KEYS, makeRoot, readResult, runMover } from './mover-run.ts'
import { startS3Server } from './s3-server.ts'

let root: string

beforeEach(() => {
  root = makeRoot()
})

/** Starts a server that records the connections and requests that reach it. */
async function startTrap(): Promise<{ port: number; connections: number[]; requests: IncomingHttpHeaders[] }> {
  const seen = { connections: [] as number[], requests: [] as IncomingHttpHeaders[] }
  const server = createServer((request, response) => {
    seen.requests.push(request.headers)
    response.end('secret')
  })
  server.on('connection', ({ remotePort }) => seen.connections.push(remotePort ?? 0))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return { port: (server.address() as AddressInfo).port, ...seen }
}

/** Without the networks that tests allow: as a Pod runs it by default. */
async function runAsPod(endpoint: string) {
  const output = { write: () => undefined }
  const words = ['mover', 'download', '--source', 's3://lake/raw/', '--endpoint', endpoint, '--root', root]
  const more = ['--target', join(root, 'data'), '--keep-free', '0', '--termination-log', join(root, 'termination')]
  const io = { stdout: output, stderr: output, env: KEYS, signal: new AbortController().signal, now: Date.now }
  await runCli([...words, ...more], io)
  return readResult(root)
}

describe('a mover connects to no server on its node', () => {
  test.each([
    '127.0.0.1',
    'localhost',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::ffff:127.0.0.1]',
    '0.0.0.0',
    'a.localhost',
  ])('%s', async (host) => {
    const trap = await startTrap()

    const result = await runAsPod(`http://${host}:${trap.port}`)

    expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', retry: false })
    expect(result.message).toMatch(/address|loopback name/)
    expect(result.message).toContain('volumes.allowedLocalNetworks')
    expect(trap.connections).toEqual([])
  })

  test.each(['http://169.254.169.254', 'https://[fe80::1]', 'http://[fd00:ec2::254]', 'http://100.100.100.200'])(
    'nor to instance metadata and what is on its link: %s',
    async (endpoint) => {
      expect(await runAsPod(endpoint)).toMatchObject({ outcome: 'failed', code: 'Rejected' })
    },
  )
})

describe('a name that leads to the node', () => {
  const open = (addresses: LookupAddress[][], localNetworks: string[] = []) => {
    const names: string[] = []
    const http = openHttpClient({
      env: {},
      localNetworks,
      resolve: (name, _options, done) => {
        names.push(name)
        done(null, addresses[Math.min(names.length, addresses.length) - 1] ?? [])
      },
    })
    onTestFinished(() => http.close())
    const send = (origin: string) =>
      http.send({ method: 'GET', origin, path: '/', headers: {} }, new AbortController().signal)
    return { names, send }
  }
  const local: LookupAddress = { address: '127.0.0.1', family: 4 }
  const mapped: LookupAddress = { address: '::ffff:169.254.169.254', family: 6 }
  const elsewhere: LookupAddress = { address: '192.0.2.1', family: 4 }

  test.each([
    { what: 'at once', addresses: [local] },
    { what: 'among others', addresses: [elsewhere, local] },
    { what: 'in the form of IPv6', addresses: [mapped] },
  ])('$what is not connected to', async ({ addresses }) => {
    const trap = await startTrap()
    for (const protocol of ['http', 'https']) {
      const { send } = open([addresses])
      const error = await send(`${protocol}://rebind.example.org:${trap.port}`).catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(MoverError)
      expect((error as MoverError).code).toBe('Rejected')
      expect((error as MoverError).message).toMatch(/rebind\.example\.org resolves to an address that is not allowed/)
    }
    expect(trap.connections).toEqual([])
  })

  test('is resolved once for a connection, which uses the address that was checked', async () => {
    const trap = await startTrap()
    // Allowed at first and forbidden later, as who controls the name would have it: the other way round the first answer would do.
    const { names, send } = open([[local], [mapped]], ['127.0.0.0/8'])

    expect((await send(`http://rebind.example.org:${trap.port}`)).text).toBe('secret')
    expect(names).toEqual(['rebind.example.org'])
    // The connection is kept: no second look is needed for a second request.
    await send(`http://rebind.example.org:${trap.port}`)
    expect(names).toHaveLength(1)
    expect(new Set(trap.connections).size).toBe(1)
  })
})

describe('a redirect', () => {
  test.each([301, 302, 307, 308])(
    'with %d is not followed, and the credentials stay where they are',
    async (status) => {
      const [s3, trap] = [await startS3Server(), await startTrap()]
      s3.put('raw/a', 'a')
      s3.misbehave(() => ({ status, headers: { location: `http://127.0.0.1:${trap.port}/lake/` } }))

      const { result } = await runMover(root, ['download', '--endpoint', s3.url, '--source', 's3://lake/raw/'])

      expect(result).toMatchObject({ outcome: 'failed', code: 'Rejected', retry: false })
      expect(trap.connections).toEqual([])
    },
  )
})

describe('credentials whose Secret names endpoints', () => {
  const download = (endpoint: string, env: Record<string, string>, ...more: string[]) =>
    runMover(root, ['download', '--endpoint', endpoint, '--source', 's3://lake/raw/', '--retries', '0', ...more], {
      env,
    })

  test.each([
    {
      what: 'are sent to one of them',
      endpoints: (url: string) => `https://s3.example.org, ${url}/any/path`,
      sent: true,
    },
    { what: 'are sent to any server where none is named', endpoints: () => ' \n', sent: true },
    { what: 'are not sent to another host', endpoints: () => 'https://s3.example.org', sent: false },
    { what: 'are not sent to another port', endpoints: (url: string) => url.replace(/\d+$/, '9'), sent: false },
    { what: 'are not sent without TLS', endpoints: (url: string) => url.replace('http:', 'https:'), sent: false },
    { what: 'are not sent for what is no URL', endpoints: () => 'lake', sent: false },
  ])('$what', async ({ endpoints, sent }) => {
    const s3 = await startS3Server()
    s3.put('raw/a', 'a')
    const given = endpoints(s3.url)
    const files = join(root, 'credentials')
    mkdirSync(files)
    writeFileSync(join(files, 'awsAccessKeyID'), KEYS.AWS_ACCESS_KEY_ID)
    writeFileSync(join(files, 'awsSecretAccessKey'), KEYS.AWS_SECRET_ACCESS_KEY)
    writeFileSync(join(files, 'endpoints'), given)

    const byVariable = await download(s3.url, { ...KEYS, MOVER_CREDENTIAL_ENDPOINTS: given })
    const byFile = await download(s3.url, {}, '--target', join(root, 'other'), '--credentials', files)

    const message = expect.stringContaining('the key endpoints of their Secret')
    for (const { result } of [byVariable, byFile]) {
      expect(result).toMatchObject(
        sent ? { outcome: 'completed' } : { outcome: 'failed', code: 'AccessDenied', retry: false, message },
      )
    }
    const signed = s3.requests.filter(({ headers }) => headers.authorization !== undefined)
    expect(signed.length > 0).toBe(sent)
  })
})
