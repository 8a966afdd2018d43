/** The whole application on a folder of manifests: readiness, certificates, shutdown and edits, over real sockets. */
import { cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { Ajv } from 'ajv'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { stringify } from 'yaml'
import type { AdmissionReview } from '../../src/api/admission.ts'
import { dataSourceClaims } from '../../src/api/data-source-claim.ts'
import { type InterpreterWebhookConfiguration, interpreterWebhookConfigurations } from '../../src/api/interpreter.ts'
import { resourceBindings } from '../../src/api/karmada.ts'
import type { K8sObject } from '../../src/api/meta.ts'
import { mutatingWebhookConfigurations } from '../../src/api/registration.ts'
import { type App, type AppInput, startApp } from '../../src/app/app.ts'
import { type Config, DEFAULT_CONFIG } from '../../src/app/config/config.ts'
import { observeStore } from '../../src/app/monitoring/observe.ts'
import { wantedInterpreterRegistration } from '../../src/app/registration.ts'
import { defined } from '../../src/base/json.ts'
import { compileSchema } from '../../src/base/schema/schema-errors.ts'
import { validateManifest } from '../../src/cli/check/input/validate-manifest.ts'
import { runCli } from '../../src/cli/index.ts'
import { readAnnotations } from '../../src/core/resource-binding/annotations.ts'
import { decideBinding } from '../../src/core/resource-binding/decide.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { RequestError } from '../../src/store/cluster/api-error.ts'
import { type FolderStore, openFolderStore } from '../../src/store/folder/folder.ts'
import { cachedKinds } from '../../src/store/kinds/cached-kinds.ts'
import { type LogLine, recordLog } from '../../src/telemetry/logger.fake.ts'
import { type Metrics, openMetrics } from '../../src/telemetry/metrics.ts'
import { openMemoryStorage } from '../../src/tls/memory-storage.ts'
import { openCertificates } from '../../src/tls/rotation.ts'
import { INTERPRETER_PATH, interpreterTypes } from '../../src/webhooks/interpreter.ts'
import { makeClaim, makeInput, unknown } from '../builders.ts'
import { temporaryFolder } from '../temporary-folder.ts'
import { call } from './https-client.ts'
import { LOOPBACK } from './loopback.ts'

const PATH = '/mutate/resource-binding'
const review = readFileSync('examples/review.json', 'utf8')

interface Running {
  app: App
  /** The folder of manifests: a copy of examples/hub. */
  hub: string
  ca: string
  store: FolderStore
  lines: LogLine[]
  metrics: Metrics
}

interface Overrides {
  server?: Partial<Config['server']>
  registration?: Partial<Config['registration']>
  certificates?: Partial<Config['certificates']>
  dependencies?: Config['dependencies']
  /** Manifests beside those of examples/hub. */
  given?: K8sObject[]
  /** Reading the folder begins when this resolves. */
  gate?: Promise<void>
  now?: () => number
  /** The end of the credentials for the API server, in ms since the epoch. */
  credentialsEndAt?: number
  readServerInfo?: AppInput['readServerInfo']
  /** The API server calls the webhooks. */
  probeWebhooks?: AppInput['probeWebhooks']
}

/** Starts everything on free ports of the loopback; stopped when the test ends. */
async function start({
  server,
  registration,
  certificates,
  dependencies = DEFAULT_CONFIG.dependencies,
  given = [],
  gate,
  now = Date.now,
  credentialsEndAt,
  readServerInfo,
  probeWebhooks,
}: Overrides = {}): Promise<Running> {
  const hub = temporaryFolder()
  cpSync('examples/hub', hub, { recursive: true })
  for (const [i, object] of given.entries()) writeFileSync(join(hub, `given-${i}.yaml`), stringify(object))
  const config: Config = {
    ...DEFAULT_CONFIG,
    server: { ...DEFAULT_CONFIG.server, ...LOOPBACK, ...server },
    registration: { ...DEFAULT_CONFIG.registration, ...registration },
    certificates: { ...DEFAULT_CONFIG.certificates, directory: temporaryFolder(), ...certificates },
    dependencies,
    leaderElection: { ...DEFAULT_CONFIG.leaderElection, enabled: false },
  }
  const { log, lines } = recordLog()
  const metrics = openMetrics()
  const observer = observeStore(log, metrics)
  const store = openFolderStore({
    directory: hub,
    kinds: cachedKinds,
    observer,
    validate: validateManifest,
    debounceMs: 10,
  })
  if (gate) {
    const startNow = store.start.bind(store)
    store.start = (signal) => gate.then(() => startNow(signal))
  }
  const readCredentials =
    credentialsEndAt === undefined ? undefined : async () => ({ beginsAt: 0, endsAt: credentialsEndAt })
  const app = await startApp(
    defined({ config, store, log, metrics, now, readServerInfo, readCredentials, probeWebhooks }),
  )
  onTestFinished(() => app.stop())
  return { app, hub, ca: readFileSync(join(config.certificates.directory, 'ca.crt'), 'utf8'), store, lines, metrics }
}

async function startReady(overrides?: Overrides): Promise<Running> {
  const running = await start(overrides)
  await running.app.ready
  return running
}

async function health({ app }: Running, path: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`http://127.0.0.1:${app.ports.health}${path}`)
  return { status: response.status, text: await response.text() }
}

function send({ app, ca }: Running) {
  return call({ port: app.ports.admission, ca, path: PATH, body: review })
}

/** The clusters to which the example's binding is narrowed. */
async function narrowedTo(running: Running): Promise<unknown> {
  const { response } = JSON.parse((await send(running)).body) as AdmissionReview
  const patch = JSON.parse(Buffer.from(response?.patch ?? '', 'base64').toString()) as {
    path: string
    value: unknown
  }[]
  return patch.find(({ path }) => path === '/spec/placement/clusterAffinity/clusterNames')?.value
}

/** Reports whether a process listens on this port. */
function isOpen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}

/** Listens on a free port until the test ends or calls `free`. */
async function takePort(): Promise<{ port: number; free: () => Promise<void> }> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const free = () => new Promise<void>((resolve) => server.close(() => resolve()))
  onTestFinished(free)
  return { port: (server.address() as AddressInfo).port, free }
}

async function freePort(): Promise<number> {
  const { port, free } = await takePort()
  await free()
  return port
}

/** Makes a folder with a certificate that Lodestone does not manage. */
async function makeCertificates(): Promise<string> {
  const directory = temporaryFolder()
  const certificates = await openCertificates({ storage: openMemoryStorage(), hosts: ['127.0.0.1'], now: Date.now })
  certificates.stop()
  const { certPem, keyPem, caBundlePem = '' } = certificates.current()
  for (const [name, pem] of Object.entries({ 'ca.crt': caBundlePem, 'tls.key': keyPem, 'tls.crt': certPem })) {
    writeFileSync(join(directory, name), pem)
  }
  return directory
}

describe('probes and metrics', () => {
  test('before the manifests are read it is alive and not ready, then ready', async () => {
    const gate = Promise.withResolvers<void>()
    const running = await start({ gate: gate.promise })

    const early = await health(running, '/readyz')
    expect(early.status).toBe(503)
    for (const { type } of cachedKinds)
      expect(early.text).toMatch(new RegExp(`^not ready: ${type.kind}( \\(${type.group}\\))? cache not synced$`, 'm'))
    expect(await health(running, '/livez')).toEqual({ status: 200, text: 'ok\n' })
    const { status, text } = await health(running, '/metrics')
    expect(status).toBe(200)
    expect(text, 'for the alert about a missing leader').toContain('leader_election_master_status{name="lodestone"} 0')
    expect((await send(running)).status, 'unknown is not empty').toBe(500)

    gate.resolve()
    await running.app.ready
    expect(await health(running, '/readyz')).toEqual({ status: 200, text: 'ok\n' })
    expect((await send(running)).status).toBe(200)
  })

  test('no review is decided before the API server tells the rules of Karmada', async () => {
    let isUp = false
    const running = await start({
      readServerInfo: () =>
        isUp
          ? Promise.resolve({ version: 'v1.35.0', bindingSchemas: {} })
          : Promise.reject(new RequestError('GET /version: connection refused')),
    })
    const waits = { status: 503, text: 'not ready: rules of Karmada not read\n' }
    await expect.poll(() => health(running, '/readyz')).toEqual(waits)
    expect((await send(running)).status, 'unknown is not old').toBe(500)
    const ofClaim = JSON.stringify({
      apiVersion: 'admission.k8s.io/v1',
      kind: 'AdmissionReview',
      request: {
        uid: '1',
        operation: 'CREATE',
        kind: { group: dataSourceClaims.group, version: dataSourceClaims.version, kind: dataSourceClaims.kind },
        resource: { group: dataSourceClaims.group, version: dataSourceClaims.version, resource: 'datasourceclaims' },
        object: makeClaim(),
      },
    })
    const { app, ca } = running
    const answer = await call({ port: app.ports.admission, ca, path: '/validate/data-source-claim', body: ofClaim })
    expect(answer.status, 'a claim needs no rules').toBe(200)

    isUp = true
    await running.app.ready
    expect((await send(running)).status).toBe(200)
  })

  test('no schema is compiled after the start: the first review must not wait', async () => {
    const validate = compileSchema({ type: 'object' })
    const running = await start()
    const compile = vi.spyOn(Ajv.prototype, 'compile')
    onTestFinished(() => compile.mockRestore())

    await running.app.ready
    expect((await send(running)).status).toBe(200)
    validate({})
    expect(compile).toHaveBeenCalledTimes(0)
  })

  test('when the served certificate has expired it is not ready', async () => {
    let passedMs = 0
    const running = await startReady({
      certificates: { source: 'files', directory: await makeCertificates() },
      now: () => Date.now() + passedMs,
    })

    passedMs = 400 * 24 * 60 * 60_000

    const { status, text } = await health(running, '/readyz')
    expect(status).toBe(503)
    expect(text).toMatch(/^not ready: the serving certificate expired at \d{4}-\d\d-\d\dT/m)
    expect((await health(running, '/livez')).status).toBe(200)
  })

  test('metrics count reviews by known names, and have the end of the certificate', async () => {
    const running = await startReady()
    await send(running)

    const { status, text } = await health(running, '/metrics')

    expect(status).toBe(200)
    expect(text).toContain('controller_runtime_webhook_requests_total{webhook="resource-binding",code="200"} 1')
    expect(text).toContain('lodestone_cached_objects{kind="Cluster"} 3')
    expect(text).toContain('lodestone_decisions_total{webhook="resource-binding",result="Narrowed"} 1')
    const [, expiry] = /^lodestone_certificate_expiry_timestamp_seconds (\S+)$/m.exec(text) ?? []
    expect(Number(expiry) * 1000).toBeGreaterThan(Date.now())
  })

  test('on a hub it is ready when it is registered, with the CA that it serves', async () => {
    const running = await startReady({ registration: { mode: 'url', url: 'https://127.0.0.1:9443' } })

    const { webhooks } = (await running.store.read(mutatingWebhookConfigurations, undefined, 'lodestone')) ?? {}
    const [first] = webhooks ?? []
    expect(first?.clientConfig.url).toBe(`https://127.0.0.1:9443${PATH}`)
    expect(Buffer.from(first?.clientConfig.caBundle ?? '', 'base64').toString()).toBe(running.ca)
  })

  test('/readyz warns of credentials that end soon, and stays 200', async () => {
    const running = await startReady({ credentialsEndAt: Date.now() + 3_600_000 })
    await expect
      .poll(() => health(running, '/readyz'))
      .toEqual({
        status: 200,
        text: expect.stringMatching(
          /^ok\nwarning: the credentials for the API server end at \S+Z; renew the kubeconfig with lodestone kubeconfig/,
        ),
      })
  })

  describe('Lodestone registers with Karmada as the interpreter of dependencies', () => {
    const hub = { mode: 'url', url: 'https://127.0.0.1:9443' } as const
    const told = ({ store }: Running) => store.read(interpreterWebhookConfigurations, undefined, 'lodestone')

    test('where that is served, with the same CA', async () => {
      const running = await startReady({ registration: hub })

      await expect.poll(() => told(running)).toBeDefined()
      const [entry] = (await told(running))?.webhooks ?? []
      expect(entry?.clientConfig.url).toBe('https://127.0.0.1:9443/interpret/dependencies')
      expect(Buffer.from(entry?.clientConfig.caBundle ?? '', 'base64').toString()).toBe(running.ca)
      const answer = await call({ port: running.app.ports.admission, ca: running.ca, path: INTERPRETER_PATH })
      expect(answer.status).toBe(400)
    })

    test('only once everything is read, since before that no request could be answered', async () => {
      let open = () => {}
      const gate = new Promise<void>((resolve) => {
        open = resolve
      })
      const running = await start({ registration: hub, gate })
      const admission = () => running.store.read(mutatingWebhookConfigurations, undefined, 'lodestone')
      await expect.poll(async () => (await health(running, '/readyz')).text).toContain('webhooks not registered yet')

      expect([await admission(), await told(running)]).toEqual([undefined, undefined])
      open()
      await running.app.ready
      expect(await admission()).toBeDefined()
      await expect.poll(() => told(running)).toBeDefined()
    })

    test('no longer, where it was and Lodestone distributes them now', async () => {
      const dependencies = { ...DEFAULT_CONFIG.dependencies, distribution: 'builtin' as const }
      const before = wantedInterpreterRegistration(
        DEFAULT_CONFIG,
        interpreterTypes(SHIPPED_KINDS),
      ) as InterpreterWebhookConfiguration
      const running = await startReady({ registration: hub, dependencies, given: [before] })

      await expect.poll(async () => (await told(running))?.webhooks).toEqual([])
    })
  })
})

describe('a certificate that is replaced while connections are open', () => {
  /** Two certificates of one CA. */
  async function makePairs() {
    const storage = openMemoryStorage()
    const open = async (...hosts: string[]) => {
      const certificates = await openCertificates({ storage, hosts: ['127.0.0.1', ...hosts], now: Date.now })
      certificates.stop()
      return certificates.current()
    }
    return { first: await open(), second: await open('second.example.org') }
  }

  function write(
    folder: string,
    { certPem, keyPem, caBundlePem = '' }: Awaited<ReturnType<typeof makePairs>>['first'],
  ) {
    writeFileSync(join(folder, 'ca.crt'), caBundlePem)
    writeFileSync(join(folder, 'tls.key'), keyPem)
    writeFileSync(join(folder, 'tls.crt'), certPem)
  }

  function servedToNewConnections({ app, ca }: Running): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = connectTls({ host: '127.0.0.1', port: app.ports.admission, ca }, () => {
        resolve(socket.getPeerCertificate().subjectaltname ?? '')
        socket.destroy()
      })
      socket.once('error', reject)
    })
  }

  test('is served to new connections, and an open one continues', async () => {
    const { first, second } = await makePairs()
    const directory = temporaryFolder()
    write(directory, first)
    let passedMs = 0
    const now = () => Date.now() + passedMs
    const running = await startReady({ certificates: { source: 'files', directory }, now })
    const agent = new Agent({ keepAlive: true, maxSockets: 1, ca: running.ca })
    onTestFinished(() => agent.destroy())
    const sendAgain = () =>
      new Promise<{ status: number | undefined; reused: boolean; hosts: string }>((resolve, reject) => {
        const { admission: port } = running.app.ports
        const headers = { 'content-type': 'application/json' }
        const outgoing = request(
          { host: '127.0.0.1', port, path: PATH, method: 'POST', agent, headers },
          (response) => {
            const hosts = (response.socket as TLSSocket).getPeerCertificate().subjectaltname ?? ''
            response
              .resume()
              .on('end', () => resolve({ status: response.statusCode, reused: outgoing.reusedSocket, hosts }))
          },
        )
        outgoing.on('error', reject)
        outgoing.end(review)
      })
    const before = await sendAgain()
    expect(before).toMatchObject({ status: 200, reused: false })
    expect(before.hosts).not.toContain('second.example.org')

    // Long enough after the start that every caller knows the CA.
    passedMs = 10 * 60_000
    write(directory, second)

    await expect.poll(() => servedToNewConnections(running)).toContain('second.example.org')
    expect(await sendAgain()).toEqual({ ...before, reused: true })
    expect((await send(running)).status).toBe(200)
  })

  test('stays in use when its replacement is invalid', async () => {
    const { first, second } = await makePairs()
    const directory = temporaryFolder()
    write(directory, first)
    const running = await startReady({ certificates: { source: 'files', directory } })

    write(directory, { ...second, keyPem: first.keyPem })

    await expect
      .poll(() => running.lines)
      .toContainEqual(
        expect.objectContaining({
          level: 'error',
          msg: 'certificate check failed; keeping the last valid certificate',
        }),
      )
    expect(await servedToNewConnections(running)).not.toContain('second.example.org')
  })
})

describe('stopping', () => {
  /** A review whose last byte is still to come; the server knows of it already. */
  async function openReview(running: Running) {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number | undefined; body: string }>()
    const outgoing = request(
      {
        host: '127.0.0.1',
        port: running.app.ports.admission,
        ca: running.ca,
        agent: false,
        path: PATH,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(review) },
      },
      (response) => {
        let body = ''
        response.on('data', (chunk: Buffer) => {
          body += chunk.toString()
        })
        response.on('end', () => resolve({ status: response.statusCode, body }))
      },
    )
    outgoing.on('error', reject)
    outgoing.write(review.slice(0, -1))
    await expect.poll(async () => (await health(running, '/metrics')).text).toMatch(/^lodestone_bytes_in_flight [1-9]/m)
    return { answer: promise, finish: () => outgoing.end(review.slice(-1)) }
  }

  test('it is not ready first, then answers what is in flight, then closes its ports', async () => {
    const running = await startReady()
    const { admission, health: healthPort } = running.app.ports
    const { answer, finish } = await openReview(running)

    const stopping = running.app.stop()

    expect(await health(running, '/readyz')).toEqual({ status: 503, text: 'not ready: shutting down\n' })
    expect((await health(running, '/livez')).status).toBe(200)
    await expect.poll(() => isOpen(admission)).toBe(false)
    finish()
    const { status, body } = await answer
    expect(status).toBe(200)
    expect(JSON.parse(body).response.allowed).toBe(true)
    await stopping
    expect(await isOpen(healthPort)).toBe(false)
  })

  test('while it drains, reviews from callers that have not heard of it are answered', async () => {
    const running = await startReady({ server: { drainSeconds: 2 } })

    const stopping = running.app.stop()

    expect((await health(running, '/readyz')).status).toBe(503)
    expect((await send(running)).status).toBe(200)
    await stopping
    expect(await isOpen(running.app.ports.admission)).toBe(false)
  })

  test('its metrics say no longer that a leader has seen the webhooks', async () => {
    const running = await startReady({ server: { drainSeconds: 0 }, probeWebhooks: async () => ({ result: 'seen' }) })
    const samples = async () =>
      (await running.metrics.registry.metrics()).match(/^(?:leader_election|lodestone_webhooks_seen).*$/gm)
    await expect
      .poll(samples)
      .toEqual(['lodestone_webhooks_seen 1', 'leader_election_master_status{name="lodestone"} 1'])

    await running.app.stop()

    expect(await samples()).toEqual(['lodestone_webhooks_seen 0', 'leader_election_master_status{name="lodestone"} 0'])
  })

  test('ends soon after the drain, whatever is open', async () => {
    const running = await startReady({ server: { drainSeconds: 1 } })
    const { admission: port } = running.app.ports
    // Never starts TLS.
    const tcp = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
    // Never sends the rest of its body.
    const tls = connectTls({ host: '127.0.0.1', port, ca: running.ca })
    for (const socket of [tcp, tls]) {
      socket.on('error', () => undefined)
      onTestFinished(() => void socket.destroy())
    }
    tls.write(`POST ${PATH} HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{`)
    await expect.poll(async () => (await health(running, '/metrics')).text).toMatch(/^lodestone_bytes_in_flight [1-9]/m)

    const began = performance.now()
    await running.app.stop()

    // A quiet machine needs the drain and 5 s; the timeouts of these connections are longer.
    expect(performance.now() - began).toBeLessThan(20_000)
    expect(await isOpen(port)).toBe(false)
  })

  test('twice is as good as once', async () => {
    const running = await startReady()

    await Promise.all([running.app.stop(), running.app.stop()])
    await running.app.stop()

    expect(running.lines.filter(({ msg }) => msg === 'stopped')).toHaveLength(1)
  })

  test('before it is ready, it is no longer waited for', async () => {
    const gate = Promise.withResolvers<void>()
    const running = await start({ gate: gate.promise })

    await running.app.stop()
    gate.resolve()

    await expect(running.app.ready).rejects.toThrow()
  })
})

describe('a port in use causes an error with the port, and no connection stays open', () => {
  test('the port of admission', async () => {
    const { port } = await takePort()
    const healthPort = await freePort()

    await expect(start({ server: { port, healthPort } })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: another process uses the port`,
    )

    expect(await isOpen(healthPort)).toBe(false)
  })

  test('the port of probes', async () => {
    const { port: healthPort } = await takePort()
    const port = await freePort()

    await expect(start({ server: { port, healthPort } })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${healthPort}: another process uses the port`,
    )

    expect(await isOpen(port)).toBe(false)
  })
})

test('a missing certificate causes an error with its folder, and closes connections', async () => {
  const healthPort = await freePort()
  const directory = temporaryFolder()

  await expect(start({ server: { healthPort }, certificates: { source: 'files', directory } })).rejects.toThrow(
    directory,
  )

  expect(await isOpen(healthPort)).toBe(false)
})

describe('the folder is followed', () => {
  const edit = (file: string, from: string, to: string) => {
    const text = readFileSync(file, 'utf8')
    expect(text).toContain(from)
    writeFileSync(file, text.replace(from, to))
  }

  test('data that moves narrows the next review to its new place', async () => {
    const running = await startReady()
    expect(await narrowedTo(running)).toEqual(['member2'])

    edit(join(running.hub, 'source.yaml'), 'clusterNames: [member2]', 'clusterNames: [member3]')

    await expect.poll(() => narrowedTo(running)).toEqual(['member3'])
  })

  test('a claim that is deleted narrows no more', async () => {
    const running = await startReady()

    rmSync(join(running.hub, 'claim.yaml'))

    await expect.poll(async () => JSON.parse((await send(running)).body).response.patch).toBeUndefined()
  })

  test('a manifest that becomes invalid is logged with its line; its last content stays', async () => {
    const running = await startReady()
    const file = join(running.hub, 'source.yaml')

    writeFileSync(file, 'apiVersion: v1\nkind: [\n')

    await expect
      .poll(() => running.lines)
      .toContainEqual(
        expect.objectContaining({
          level: 'error',
          file,
          line: 3,
          msg: expect.stringContaining(`refused: ${file}:3: `),
        }),
      )
    expect(await narrowedTo(running)).toEqual(['member2'])
    expect((await health(running, '/readyz')).status).toBe(200)
  })

  test('a new manifest that is invalid is logged with its line; all others are served', async () => {
    const running = await startReady()
    const file = join(running.hub, 'wrong.yaml')

    writeFileSync(
      file,
      `# A claim of nothing.\n${readFileSync('examples/hub/claim.yaml', 'utf8').replace('amoro', '""')}`,
    )

    await expect
      .poll(() => running.lines)
      .toContainEqual(expect.objectContaining({ file, msg: expect.stringContaining('spec.system: must not be empty') }))
    expect(await narrowedTo(running)).toEqual(['member2'])
  })
})

describe('lodestone serve --folder', () => {
  function serve(words: string[], config: unknown) {
    const ending = new AbortController()
    const file = join(temporaryFolder(), 'lodestone.yaml')
    writeFileSync(file, stringify(config))
    const shown = { stdout: '', stderr: '' }
    const status = runCli(['serve', '--folder', 'examples/hub', '--config', file, ...words], {
      stdout: { write: (text) => (shown.stdout += text) },
      stderr: { write: (text) => (shown.stderr += text) },
      env: {},
      signal: ending.signal,
      now: Date.now,
    })
    return { shown, status, end: () => ending.abort() }
  }

  test('prints the next commands with its ports, and ends with status 0 when stopped', async () => {
    const { shown, status, end } = serve([], { server: LOOPBACK, certificates: { directory: temporaryFolder() } })

    await expect.poll(() => shown.stdout).toContain('Serving examples/hub. Try, in another terminal:')
    const [, admission] = /https:\/\/localhost:(\d+)\/mutate\/resource-binding/.exec(shown.stdout) ?? []
    const [, healthPort] = /localhost:(\d+)\/readyz/.exec(shown.stdout) ?? []
    expect((await fetch(`http://127.0.0.1:${healthPort}/readyz`)).status).toBe(200)
    expect(await isOpen(Number(admission))).toBe(true)
    end()

    expect(await status).toBe(0)
    expect(await isOpen(Number(admission))).toBe(false)
    expect(shown.stderr).toContain('"msg":"stopped"')
  })

  test('says so when the port is taken', async () => {
    const { port } = await takePort()

    const { shown, status } = serve(['--port', String(port)], {
      server: LOOPBACK,
      certificates: { directory: temporaryFolder() },
    })

    await expect(status).rejects.toThrow(`cannot listen on 127.0.0.1:${port}: another process uses the port`)
    expect(shown.stdout).toBe('')
  })
})

test('a hold does not end by a jump of the clock, in the loop and at admission', async () => {
  let aheadMs = 0
  const now = () => Date.now() + aheadMs
  const claim = makeClaim({ policy: { holdTimeoutSeconds: 3600 } })
  const held = decideBinding(makeInput({ claims: [unknown({ holdTimeoutSeconds: 3600 })], now: now() })).binding
  const running = await startReady({ given: [claim, held], now })

  aheadMs = 365 * 24 * 60 * 60_000
  // The new reason of the hold shows that the loop has decided again.
  await running.store.create(dataSourceClaims, makeClaim({ policy: { holdTimeoutSeconds: 3600 } }, { name: 'another' }))
  const binding = () => running.store.read(resourceBindings, held.metadata.namespace, held.metadata.name ?? '')
  const holdOf = (one?: K8sObject) => readAnnotations(one?.metadata.annotations).hold
  await expect.poll(async () => holdOf(await binding())?.message).toContain('another')
  expect(holdOf(await binding())?.released).toBeUndefined()

  const object = { ...held, metadata: { ...held.metadata, labels: { touched: 'true' } } }
  const parsed = JSON.parse(review)
  const { name, namespace } = held.metadata
  const request = { ...parsed.request, name, namespace, operation: 'UPDATE', object, oldObject: held }
  const { body } = await call({
    port: running.app.ports.admission,
    ca: running.ca,
    path: PATH,
    body: JSON.stringify({ ...parsed, request }),
  })
  const { response } = JSON.parse(body) as AdmissionReview
  expect(response?.allowed).toBe(true)
  expect(Buffer.from(response?.patch ?? '', 'base64').toString()).not.toContain('released')
})
