import { execFile } from 'node:child_process'
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import forge from 'node-forge'
import { beforeAll, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { resourceBindings } from '../../api/karmada.ts'
import { collectionPath } from '../../api/meta.ts'
import type { ApiConnection } from './api-connection.ts'
import { FakeApiServer } from './api-server.fake.ts'
import { type ConnectionSource, openConnection } from './connection.ts'

const path = collectionPath(resourceBindings)
let tls: { key: string; cert: string }
let directory: string

beforeAll(() => {
  tls = createCertificate()
})

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lodestone-'))
  return () => rm(directory, { recursive: true })
})

function createCertificate(): { key: string; cert: string } {
  const pair = forge.pki.rsa.generateKeyPair(2048)
  const certificate = forge.pki.createCertificate()
  certificate.publicKey = pair.publicKey
  certificate.serialNumber = '01'
  certificate.validity.notBefore = new Date(Date.now() - 60_000)
  certificate.validity.notAfter = new Date(Date.now() + 3_600_000)
  const name = [{ name: 'commonName', value: 'test' }]
  certificate.setSubject(name)
  certificate.setIssuer(name)
  certificate.setExtensions([
    { name: 'basicConstraints', cA: true },
    { name: 'subjectAltName', altNames: [{ type: 7, ip: '127.0.0.1' }] },
  ])
  certificate.sign(pair.privateKey, forge.md.sha256.create())
  return { key: forge.pki.privateKeyToPem(pair.privateKey), cert: forge.pki.certificateToPem(certificate) }
}

async function serve(options?: object): Promise<FakeApiServer> {
  const server = await new FakeApiServer([resourceBindings], options && { ...tls, ...options }).listen()
  onTestFinished(() => server.close())
  return server
}

async function serveAt(port: number, options: object): Promise<FakeApiServer> {
  const server = await new FakeApiServer([resourceBindings], options).listen(port)
  onTestFinished(() => server.close())
  return server
}

/** Serves a proxy that connects every host to one server. Returns its URL. */
async function serveProxyTo(server: string): Promise<string> {
  const proxy = createServer().on('connect', (_request: IncomingMessage, socket) => {
    const onward = connect(Number(new URL(server).port), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      socket.pipe(onward).pipe(socket)
    })
    for (const end of [socket, onward]) end.on('error', () => end.destroy())
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void proxy.close())
  return `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
}

/** Writes the files that the kubelet mounts into a pod, and returns their folder. */
async function writeServiceAccount(server: FakeApiServer): Promise<string> {
  const account = join(directory, '/var/run/secrets/kubernetes.io/serviceaccount')
  await mkdir(account, { recursive: true })
  await writeFile(join(account, 'ca.crt'), tls.cert)
  await writeFile(join(account, 'token'), 'projected')
  vi.stubEnv('KUBERNETES_SERVICE_HOST', '127.0.0.1')
  vi.stubEnv('KUBERNETES_SERVICE_PORT', new URL(server.url).port)
  onTestFinished(() => void vi.unstubAllEnvs())
  return account
}

async function writeConfig(server: string, user: object = {}, cluster: object = {}): Promise<string> {
  const ca = Buffer.from(tls.cert).toString('base64')
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'one',
    contexts: [
      { name: 'one', context: { cluster: 'here', user: 'me' } },
      { name: 'anonymous', context: { cluster: 'here' } },
    ],
    clusters: [{ name: 'here', cluster: { server, 'certificate-authority-data': ca, ...cluster } }],
    users: [{ name: 'me', user }],
  }
  const file = join(directory, 'kubeconfig')
  await writeFile(file, JSON.stringify(config))
  return file
}

async function open(source: ConnectionSource): Promise<ApiConnection> {
  const connection = await openConnection(source)
  onTestFinished(() => connection.close())
  return connection
}

async function get(source: ConnectionSource): Promise<unknown> {
  return (await open(source)).request('GET', path)
}

describe('a connection', () => {
  test('trusts the CA of the kubeconfig, and no other one', async () => {
    const server = await serve({})
    const trusting = await open({ kubeconfig: await writeConfig(server.url) })
    expect(trusting.server).toBe(server.url)
    expect(await trusting.request('GET', path)).toMatchObject({ kind: 'ResourceBindingList' })
    const other = Buffer.from(createCertificate().cert).toString('base64')
    const wary = await open({ kubeconfig: await writeConfig(server.url, {}, { 'certificate-authority-data': other }) })
    await expect(wary.request('GET', path)).rejects.toThrow(/certificate/)
  })

  test('names a CA without a certificate, with which Node.js would trust no server', async () => {
    const server = await serve({})
    const cluster = { 'certificate-authority-data': btoa('a note') }
    const kubeconfig = await writeConfig(server.url, {}, cluster)
    await expect(get({ kubeconfig })).rejects.toThrow(
      'certificate-authority of cluster here: its data has no certificate in PEM form',
    )
    const unverified = await writeConfig(server.url, {}, { ...cluster, 'insecure-skip-tls-verify': true })
    expect(await get({ kubeconfig: unverified })).toBeDefined()
  })

  test.each([
    {
      user: { 'client-certificate-data': btoa('a note') },
      says: 'client-certificate of user me: its data has no cert',
    },
    { user: { 'client-key': undefined }, says: 'client-key of user me is missing' },
    { user: { 'client-key': 'note' }, says: /client-key of user me: .*note has no private key in PEM form/ },
  ])('names an invalid client certificate: $says', async ({ user, says }) => {
    const server = await serve({})
    await writeFile(join(directory, 'note'), 'a note')
    await writeFile(join(directory, 'key.pem'), tls.key)
    const given = { 'client-certificate-data': btoa(tls.cert), 'client-key': 'key.pem' }
    const kubeconfig = await writeConfig(server.url, { ...given, ...user })
    await expect(get({ kubeconfig })).rejects.toThrow(says)
  })

  test('trusts the CA in a context without a user too', async () => {
    const server = await serve({})
    const connection = await open({ kubeconfig: await writeConfig(server.url), context: 'anonymous' })
    expect(await connection.request('GET', path)).toBeDefined()
  })

  test('sends the client certificate of the kubeconfig', async () => {
    const server = await serve({ requestCert: true, rejectUnauthorized: true, ca: tls.cert })
    await writeFile(join(directory, 'me.crt'), tls.cert)
    await writeFile(join(directory, 'me.key'), tls.key)
    const files = { 'client-certificate': 'me.crt', 'client-key': 'me.key' }
    expect(await get({ kubeconfig: await writeConfig(server.url, files) })).toBeDefined()
    await expect(get({ kubeconfig: await writeConfig(server.url) })).rejects.toThrow()
  })

  test('names a server without the final dot of its host, which kube-apiserver rejects', async () => {
    const names: string[] = []
    const server = await serve({
      SNICallback(name: string, callback: (error: null) => void) {
        names.push(name)
        callback(null)
      },
    })
    const address = server.url.replace('127.0.0.1', 'hub.invalid.')
    const cluster = { 'proxy-url': await serveProxyTo(server.url), 'certificate-authority-data': undefined }
    const insecure = { ...cluster, 'insecure-skip-tls-verify': true }

    expect(await get({ kubeconfig: await writeConfig(address, {}, insecure) })).toBeDefined()
    expect(
      await get({ kubeconfig: await writeConfig(address, {}, { ...insecure, 'tls-server-name': 'a.b' }) }),
    ).toBeDefined()
    expect(names).toEqual(['hub.invalid', 'a.b'])
  })

  test.each([
    { name: 'a token', user: { token: 'secret' }, want: 'Bearer secret' },
    { name: 'a password', user: { username: 'me', password: 'secret' }, want: 'Basic bWU6c2VjcmV0' },
  ])('sends $name', async ({ user, want }) => {
    const server = await serve({})
    await get({ kubeconfig: await writeConfig(server.url, user) })
    expect(server.requests[0]?.headers.authorization).toBe(want)
  })

  test('sends no credentials over plain HTTP', async () => {
    const server = await serve()
    await get({ kubeconfig: await writeConfig(server.url, { token: 'secret' }) })
    expect(server.requests[0]?.headers.authorization).toBeUndefined()
  })

  test('uses the new token after its file was rotated', async () => {
    const server = await serve({})
    const tokenFile = join(directory, 'token')
    await writeFile(tokenFile, 'first\n')
    server.token = 'first'
    const connection = await open({ kubeconfig: await writeConfig(server.url, { tokenFile: 'token' }) })
    await connection.request('GET', path)
    await writeFile(tokenFile, 'second\n')
    server.token = 'second'
    await expect(connection.request('GET', path)).rejects.toMatchObject({ status: 401 })
    expect(await connection.request('GET', path)).toBeDefined()
  })

  test('uses a replaced kubeconfig, and the old one while the new one is incomplete', async () => {
    const server = await serve({})
    const connection = await open({ kubeconfig: await writeConfig(server.url, { token: 'first' }) })
    await writeFile(join(directory, 'kubeconfig'), '{"clusters": [')
    server.token = 'second'
    await expect(connection.request('GET', path)).rejects.toMatchObject({ status: 401 })
    await writeConfig(server.url, { token: 'second' })
    expect(await connection.request('GET', path)).toBeDefined()
  })

  test('uses the token file when it exists, and the token of the kubeconfig without it', async () => {
    const server = await serve({})
    const kubeconfig = await writeConfig(server.url, { token: 'first', tokenFile: 'token' })
    await get({ kubeconfig })
    await writeFile(join(directory, 'token'), 'second\n')
    await get({ kubeconfig })
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second'])
  })

  test('sends nothing without a token in the token file', async () => {
    const server = await serve({})
    const tokenFile = join(directory, 'empty-token')
    await writeFile(tokenFile, '\n')
    const kubeconfig = await writeConfig(server.url, { tokenFile })

    await expect(get({ kubeconfig })).rejects.toThrow(`token file ${tokenFile}: it gives no valid token`)
    expect(server.requests).toEqual([])
  })

  test('sends requests as the user and the groups that the kubeconfig names', async () => {
    const server = await serve({})
    await get({ kubeconfig: await writeConfig(server.url, { token: 'a', as: 'jane', 'as-groups': ['sales', 'eu'] }) })
    const [{ headers } = {}] = server.requests
    expect(headers).toMatchObject({ 'impersonate-user': 'jane', 'impersonate-group': 'sales, eu' })
  })

  test.each([{ 'as-uid': '7' }, { 'as-groups': ['sales'] }, { 'as-user-extra': { reason: ['audit'] } }])(
    'sends nothing for a user with %j and without as, as kubectl',
    async (user) => {
      const server = await serve({})
      await expect(get({ kubeconfig: await writeConfig(server.url, { token: 'a', ...user }) })).rejects.toThrow(
        /user me has as-uid, as-groups or as-user-extra without as; add as, or remove them$/,
      )
      expect(server.requests).toEqual([])
    },
  )

  // Files are read again every ten seconds.
  const later = () => {
    const at = performance.now() + 10_001
    vi.spyOn(performance, 'now').mockImplementation(() => at)
    onTestFinished(() => void vi.restoreAllMocks())
  }

  test.each([
    { name: 'an alias without an anchor', user: { token: '*first' } },
    { name: 'a plugin with an empty variable', user: { exec: { command: 'true', env: [null] } } },
    { name: 'extensions of a wrong type', user: { exec: { provideClusterInfo: true } }, cluster: { extensions: 3 } },
    {
      name: 'a CA of a wrong type',
      user: { exec: { provideClusterInfo: true } },
      cluster: { 'certificate-authority-data': 3 },
    },
  ])('keeps the old kubeconfig while the new one has $name, also after a 401', async ({ user, cluster }) => {
    const server = await serve({})
    const kubeconfig = await writeConfig(server.url, { token: 'first' })
    const connection = await open({ kubeconfig })
    await connection.request('GET', path)
    await writeConfig(server.url, user, cluster)
    await writeFile(kubeconfig, (await readFile(kubeconfig, 'utf8')).replace('"*first"', '*first'))
    later()

    expect(await connection.request('GET', path)).toBeDefined()
    expect(connection.sourceProblem()).toMatch(/^kubeconfig .* cannot be read: .*; the last valid one stays in use$/)
    server.token = 'second'
    await expect(connection.request('GET', path)).rejects.toMatchObject({ status: 401 })
    await writeConfig(server.url, { token: 'second' })
    expect(await connection.request('GET', path)).toBeDefined()
  })

  describe.each([
    { name: 'while it runs', passes: later },
    { name: 'before a 401', passes: (server: FakeApiServer) => void Object.assign(server, { token: 'renewed' }) },
  ])('sends no credentials of the API server to which the kubeconfig switched $name', ({ passes }) => {
    const config = (server: FakeApiServer, chosen: string, other: string) => ({
      'current-context': chosen,
      contexts: ['here', 'there'].map((name) => ({ name, context: { cluster: name, user: name } })),
      clusters: [
        { name: 'here', cluster: { server: server.url, 'certificate-authority-data': btoa(tls.cert) } },
        { name: 'there', cluster: { server: other, 'insecure-skip-tls-verify': true } },
      ],
      users: ['here', 'there'].map((name) => ({ name, user: { token: `token-${name}` } })),
    })

    test.each([
      { change: 'use-context', next: (server: FakeApiServer) => config(server, 'there', 'https://other') },
      {
        change: 'another file',
        next: (server: FakeApiServer) => {
          const { contexts, ...rest } = config(server, 'there', 'https://other')
          return { ...rest, contexts: contexts.slice(1) }
        },
      },
    ])('by $change', async ({ next }) => {
      const server = await serve({})
      const kubeconfig = join(directory, 'kubeconfig')
      await writeFile(kubeconfig, JSON.stringify(config(server, 'here', 'https://other')))
      const connection = await open({ kubeconfig })
      await connection.request('GET', path)

      await writeFile(kubeconfig, JSON.stringify(next(server)))
      passes(server)
      for (let times = 0; times < 2; times++) await connection.request('GET', path).catch(() => undefined)

      const sent = server.requests.map(({ headers }) => headers.authorization)
      expect(sent).toEqual(Array(3).fill('Bearer token-here'))
    })
  })

  test('tells why a replaced kubeconfig is not used, until it can be used', async () => {
    const server = await serve({})
    const kubeconfig = await writeConfig(server.url, { token: 'first' })
    const connection = await open({ kubeconfig })
    const problemAfter = async (change: () => Promise<unknown>) => {
      await change()
      now += 11_000
      await connection.request('GET', path)
      return connection.sourceProblem()
    }
    let now = performance.now()
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    onTestFinished(() => void vi.restoreAllMocks())

    expect(await problemAfter(async () => undefined)).toBeUndefined()
    expect(await problemAfter(() => writeConfig('https://hub.example.org', { token: 'second' }))).toBe(
      `the kubeconfig names the API server https://hub.example.org instead of ${server.url}; restart Lodestone to use it`,
    )
    expect(await problemAfter(() => rm(kubeconfig))).toBe(
      `kubeconfig ${kubeconfig}: no such file or directory; the last valid one stays in use`,
    )
    expect(await problemAfter(() => writeConfig(server.url, { token: 'third' }))).toBeUndefined()
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual([
      'Bearer first',
      'Bearer first',
      'Bearer first',
      'Bearer third',
    ])
  })

  describe('follows a new CA of the API server without a restart', () => {
    const replace = async (server: FakeApiServer, next: { key: string; cert: string }) => {
      const port = Number(new URL(server.url).port)
      await server.close()
      return serveAt(port, next)
    }

    test('in the file that a kubeconfig names, also for its client certificate', async () => {
      const mutual = (pair: { key: string; cert: string }) => ({
        ...pair,
        ca: pair.cert,
        requestCert: true,
        rejectUnauthorized: true,
      })
      const write = async ({ key, cert }: { key: string; cert: string }) => {
        for (const name of ['ca.crt', 'me.crt']) await writeFile(join(directory, name), cert)
        await writeFile(join(directory, 'me.key'), key)
      }
      const server = await serve(mutual(tls))
      await write(tls)
      const cluster = { 'certificate-authority-data': undefined, 'certificate-authority': 'ca.crt' }
      const user = { 'client-certificate': 'me.crt', 'client-key': 'me.key' }
      const connection = await open({ kubeconfig: await writeConfig(server.url, user, cluster) })
      expect(await connection.request('GET', path)).toBeDefined()

      const next = createCertificate()
      await replace(server, mutual(next))
      await expect(connection.request('GET', path)).rejects.toThrow()
      await write(next)
      later()
      expect(await connection.request('GET', path)).toBeDefined()
    })

    test('in the kubeconfig itself', async () => {
      const server = await serve({})
      const connection = await open({ kubeconfig: await writeConfig(server.url) })
      expect(await connection.request('GET', path)).toBeDefined()

      const next = createCertificate()
      await replace(server, next)
      await expect(connection.request('GET', path)).rejects.toThrow(/certificate/)
      const ca = Buffer.from(next.cert).toString('base64')
      await writeConfig(server.url, {}, { 'certificate-authority-data': ca })
      later()
      expect(await connection.request('GET', path)).toBeDefined()
    })

    test('in the ServiceAccount of a pod', async () => {
      const server = await serve({})
      const account = await writeServiceAccount(server)
      const connection = await open({ inCluster: true, root: directory })
      expect(await connection.request('GET', path)).toBeDefined()

      const next = createCertificate()
      await replace(server, next)
      await expect(connection.request('GET', path)).rejects.toThrow(/certificate/)
      await writeFile(join(account, 'ca.crt'), next.cert)
      later()
      expect(await connection.request('GET', path)).toBeDefined()
    })
  })

  test('runs an exec plugin once, and again after a 401', async () => {
    const server = await serve({})
    const plugin = join(directory, 'plugin.sh')
    const credential =
      '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t\'$n\'"}}'
    const count = join(directory, 'count')
    await writeFile(
      plugin,
      `#!/bin/sh\necho x >> '${count}'\nn=$(wc -l < '${count}' | tr -d ' ')\necho '${credential}'\n`,
    )
    await chmod(plugin, 0o755)
    server.token = 't1'
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' }
    const connection = await open({ kubeconfig: await writeConfig(server.url, { exec }) })
    await Promise.all([connection.request('GET', path), connection.request('GET', path)])
    await connection.request('GET', path)
    server.token = 't2'
    await expect(connection.request('GET', path)).rejects.toMatchObject({ status: 401 })
    expect(await connection.request('GET', path)).toBeDefined()
  })

  test.each([
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential"}',
    '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{}}',
    '[]',
    'null',
  ])('sends nothing before an exec plugin has printed credentials: %s', async (printed) => {
    const server = await serve({})
    const [plugin, output] = [join(directory, 'plugin.sh'), join(directory, 'output')]
    await writeFile(plugin, `#!/bin/sh\ncat '${output}'\n`)
    await chmod(plugin, 0o755)
    await writeFile(output, printed)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' }
    const connection = await open({ kubeconfig: await writeConfig(server.url, { exec }) })

    await expect(connection.request('GET', path)).rejects.toThrow(
      `credential plugin ${plugin}: it printed neither a token nor a client certificate`,
    )
    expect(server.requests).toEqual([])
    await writeFile(output, '{"kind":"ExecCredential","status":{"token":"secret"}}')
    await connection.request('GET', path)
    expect(server.requests[0]?.headers.authorization).toBe('Bearer secret')
  })

  test('gives an exec plugin an empty standard input, as kubectl does', async () => {
    const server = await serve({})
    const plugin = join(directory, 'plugin.sh')
    await writeFile(plugin, `#!/bin/sh\ncat\necho '{"kind":"ExecCredential","status":{"token":"secret"}}'\n`)
    await chmod(plugin, 0o755)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'IfAvailable' }
    const connection = await open({ kubeconfig: await writeConfig(server.url, { exec }) })

    expect(await connection.request('GET', path, { signal: AbortSignal.timeout(30_000) })).toBeDefined()
  })

  test('reports an exec plugin that cannot start without file descriptors, and continues', async () => {
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'true', interactiveMode: 'Never' }
    const kubeconfig = await writeConfig('https://127.0.0.1:1', { exec })
    const script = `
      import { closeSync, openSync } from 'node:fs'
      import { openConnection } from ${JSON.stringify(new URL('./connection.ts', import.meta.url).href)}
      const connection = await openConnection({ kubeconfig: ${JSON.stringify(kubeconfig)} })
      await connection.request('GET', '/version').catch(() => undefined)
      const opened = []
      try { for (;;) opened.push(openSync('/dev/null')) } catch {}
      opened.splice(-3).forEach(closeSync)
      const { message } = await connection.request('GET', '/version').catch((error) => error)
      opened.forEach(closeSync)
      setTimeout(() => console.log(message), 100)`
    const limited = ['-c', 'ulimit -n 100; exec "$@"', '-', process.execPath, '--input-type=module', '-e', script]

    const { stdout } = await promisify(execFile)('sh', limited)
    expect(stdout).toContain('credential plugin true: it cannot be started, since this process has too many open files')
  })

  test('shows the begin of what a failing exec plugin wrote', async () => {
    const server = await serve({})
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: process.execPath, interactiveMode: 'Never' }
    const args = ['-e', 'process.exitCode = 1; process.stderr.write("not logged in".padEnd(1e6, "."))']
    const connection = await open({ kubeconfig: await writeConfig(server.url, { exec: { ...exec, args } }) })

    const error = await connection.request('GET', path).catch((one: Error) => one)
    expect(error).toMatchObject({ message: expect.stringContaining('node: not logged in...') })
    expect((error as Error).message.length).toBeLessThan(2000)
  })

  test('ends a stream that waits for a proxy without an answer', async () => {
    const proxy = createServer().on('connect', () => undefined)
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => {
      proxy.closeAllConnections()
      proxy.close()
    })
    const cluster = { 'proxy-url': `http://127.0.0.1:${(proxy.address() as AddressInfo).port}` }
    const connection = await open({ kubeconfig: await writeConfig('https://hub.invalid', {}, cluster) })

    await expect(connection.stream(path, { signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout')
  })

  test('starts an exec plugin that hangs once, and ends a stream that waits for it', async () => {
    const server = await serve({})
    const plugin = join(directory, 'plugin.sh')
    await writeFile(plugin, `#!/bin/sh\necho >> '${directory}/runs'\nexec sleep 2\n`)
    await chmod(plugin, 0o755)
    const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: plugin, interactiveMode: 'Never' }
    const connection = await open({ kubeconfig: await writeConfig(server.url, { exec }) })

    for (let times = 0; times < 2; times++) {
      await expect(connection.stream(path, { signal: AbortSignal.timeout(200) })).rejects.toThrow('timeout')
      later()
    }

    expect((await readFile(join(directory, 'runs'), 'utf8')).length).toBe(1)
  })

  describe('tells an exec plugin', () => {
    /** Returns what a plugin finds in its environment. */
    async function infoOf(exec: object, cluster: object = {}): Promise<unknown> {
      const server = await serve({})
      const found = join(directory, 'info')
      const credential =
        '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"t"}}'
      await writeFile(
        join(directory, 'plugin.sh'),
        `#!/bin/sh\nprintf '%s' "$KUBERNETES_EXEC_INFO" > '${found}'\necho '${credential}'\n`,
      )
      await chmod(join(directory, 'plugin.sh'), 0o755)
      const user = { exec: { apiVersion: 'client.authentication.k8s.io/v1', command: './plugin.sh', ...exec } }
      await get({ kubeconfig: await writeConfig(server.url, user, cluster) })
      return JSON.parse((await readFile(found, 'utf8')).replace(server.url, 'SERVER'))
    }
    const info = (spec: object) => ({ kind: 'ExecCredential', apiVersion: 'client.authentication.k8s.io/v1', spec })

    test('the version of its answer; its command is relative to the kubeconfig', async () => {
      expect(await infoOf({ interactiveMode: 'IfAvailable' })).toEqual(info({ interactive: false }))
    })

    test('the cluster, with what the kubeconfig has for plugins', async () => {
      const extensions = [
        { name: 'other', extension: { unused: true } },
        { name: 'client.authentication.k8s.io/exec', extension: { shoot: { name: 'prod' } } },
      ]
      expect(await infoOf({ provideClusterInfo: true }, { extensions })).toEqual(
        info({
          interactive: false,
          cluster: {
            server: 'SERVER',
            'certificate-authority-data': Buffer.from(tls.cert).toString('base64'),
            config: { shoot: { name: 'prod' } },
          },
        }),
      )
    })

    test('the cluster without a CA, if its certificate is not verified', async () => {
      const cluster = { 'certificate-authority-data': undefined, 'insecure-skip-tls-verify': true }
      expect(await infoOf({ provideClusterInfo: true }, cluster)).toEqual(
        info({ interactive: false, cluster: { server: 'SERVER', 'insecure-skip-tls-verify': true } }),
      )
    })
  })

  test('uses the service account in a pod', async () => {
    const server = await serve({})
    await writeServiceAccount(server)
    server.token = 'projected'
    expect(await get({ inCluster: true, root: directory })).toBeDefined()
  })
})

test('an unreadable ServiceAccount file does not replace the error of the API server', async () => {
  const server = await serve({})
  const account = await writeServiceAccount(server)
  const connection = await open({ inCluster: true, root: directory })
  await connection.request('GET', path)
  // As with too many open files.
  await mkdir(join(account, 'namespace'))
  server.token = 'other'

  await expect(connection.request('GET', path)).rejects.toMatchObject({ status: 401 })
  expect(connection.sourceProblem()).toMatch(/^ServiceAccount of the pod: .*; the last valid one stays in use$/)
})

describe('the error for an invalid kubeconfig names the file and the problem:', () => {
  const cluster = { name: 'c', cluster: { server: 'https://127.0.0.1:1' } }
  const context = { name: 'x', context: { cluster: 'c', user: 'u' } }
  test.each([
    { name: 'broken', text: '{"clusters": [', want: 'cannot be read' },
    { name: 'empty', text: '', want: 'no current-context' },
    { name: 'without a context', text: JSON.stringify({ clusters: [cluster] }), want: 'no current-context' },
    {
      name: 'with an unknown context',
      text: JSON.stringify({ 'current-context': 'y', contexts: [context], clusters: [cluster] }),
      want: 'has no context y (it has: x)',
    },
    {
      name: 'without the cluster',
      text: JSON.stringify({ 'current-context': 'x', contexts: [context], clusters: [] }),
      want: 'names cluster c, which is missing',
    },
    {
      name: 'without the user',
      text: JSON.stringify({ 'current-context': 'x', contexts: [context], clusters: [cluster] }),
      want: 'names user u, which is missing',
    },
    {
      name: 'with a namespace that YAML reads as a number',
      text: JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'c', namespace: 1234 } }],
        clusters: [cluster],
      }),
      want: 'namespace 1234 of context x is no text; write it in quotes',
    },
    {
      name: 'with a server that is not a URL',
      text: JSON.stringify({
        'current-context': 'x',
        contexts: [{ name: 'x', context: { cluster: 'c' } }],
        clusters: [{ name: 'c', cluster: { server: 'here' } }],
      }),
      want: 'here of cluster c is not an http or https URL',
    },
  ])('$name', async ({ text, want }) => {
    const file = join(directory, 'kubeconfig')
    await writeFile(file, text)
    await expect(openConnection({ kubeconfig: file })).rejects.toThrow(want)
    await expect(openConnection({ kubeconfig: file })).rejects.toThrow(file)
  })

  test('missing', async () => {
    await expect(openConnection({ kubeconfig: join(directory, 'none') })).rejects.toThrow(
      `${join(directory, 'none')}: no such file or directory`,
    )
  })

  test('in-cluster outside a cluster', async () => {
    vi.stubEnv('KUBERNETES_SERVICE_HOST', '')
    onTestFinished(() => void vi.unstubAllEnvs())
    await expect(openConnection({ inCluster: true })).rejects.toThrow('not in a cluster')
  })
})
