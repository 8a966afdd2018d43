/** Tests the folder of configurations: the systems in use and the reports after each change. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdir, mkdtemp, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Cluster } from '../api/karmada.ts'
import { defined } from '../base/json.ts'
import { TestClock } from '../base/time/clock.fake.ts'
import { systemClock } from '../base/time/clock.ts'
import { type ConfigMap, configMapSource, folderSource } from './config/source.ts'
import { DataServer } from './http/data-server.fake.ts'
import { selfSigned } from './http/self-signed.fake.ts'
import { type OpenedSystems, openSystems, type SystemsInput } from './systems.ts'

const never = new AbortController().signal
const query = { type: 'table', name: 'dc1.db.user', attributes: {} }
let directory: string
let server: DataServer
let systems: OpenedSystems | undefined
let clock: TestClock
let told: string[]
let clusters: Cluster[]

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'lodestone-'))
  clock = new TestClock()
  told = []
  clusters = []
  server = await new DataServer(({ path }) => {
    if (path.endsWith('/health/status')) return { body: { code: 200 } }
    return { body: { metadata: { location: 's3://wh-dc1/db/user' } } }
  }).listen()
})
afterEach(async () => {
  await systems?.stop()
  systems = undefined
  await server.close()
  await rm(directory, { recursive: true, force: true })
})

async function open(more: Partial<SystemsInput> = {}): Promise<OpenedSystems> {
  systems = await openSystems({
    source: folderSource(directory),
    clusters: () => clusters,
    clock,
    observer: {
      loaded: ({ system }) => told.push(`loaded ${system}`),
      removed: ({ system }) => told.push(`removed ${system}`),
      configWarning: ({ system, message }) => told.push(`${system}: ${message}`),
      configError: ({ message }) => told.push(message.replaceAll(directory, '')),
    },
    ...more,
  })
  return systems
}

const write = (name: string, text: string | object) =>
  writeFile(join(directory, name), typeof text === 'string' ? text : JSON.stringify(text))
const amoro = (clusterName = 'm1', more: object = {}) => ({
  system: 'amoro',
  endpoint: { url: server.url },
  locationMapping: { 's3://wh-dc1/': [clusterName] },
  ...more,
})
const located = { kind: 'located', location: 's3://wh-dc1/db/user' } as const

test('a mounted ConfigMap is read: keys without extension, links, no hidden files', async () => {
  const version = join(directory, '..2026_01_01')
  await mkdir(version)
  await writeFile(join(version, 'amoro'), JSON.stringify(amoro()))
  await writeFile(join(version, 'archive'), 'system: static\n')
  await symlink('..2026_01_01', join(directory, '..data'))
  await symlink('..data/amoro', join(directory, 'amoro'))
  await symlink('..data/archive', join(directory, 'archive'))
  const opened = await open()
  expect(opened.list().map(({ system, plugin, file }) => [system, plugin, file])).toEqual([
    ['amoro', 'amoro', join(directory, 'amoro')],
    ['static', 'static', join(directory, 'archive')],
  ])

  const next = join(directory, '..2026_01_02')
  await mkdir(next)
  await writeFile(join(next, 'amoro'), JSON.stringify(amoro('m2')))
  await writeFile(join(next, 'archive'), 'system: static\n')
  await symlink('..2026_01_02', join(directory, '..data_tmp'))
  await rename(join(directory, '..data_tmp'), join(directory, '..data'))
  await opened.reload()
  expect(opened.get('amoro')?.clustersOf(located)).toEqual(['m2'])
})

test('a query is answered, and its location is mapped to clusters', async () => {
  await write('amoro', amoro('m1', { refreshInterval: '30s' }))
  const system = (await open()).get('amoro')
  const answer = await system?.plugin.locate(query, never)
  expect(answer).toEqual({ ...located, bytes: 0 })
  expect(system?.clustersOf(located)).toEqual(['m1'])
  expect(system?.refreshIntervalMs).toBe(30_000)
  expect(system?.clustersOf({ ...located, clusters: ['b', 'a', 'b'] })).toEqual(['a', 'b'])
  expect(systems?.get('s3')).toBeUndefined()
})

describe('hot reload', () => {
  test('a warning about a field of volcano-global is reported once for each content', async () => {
    const warning = 'amoro: note: unknown field; ignored, as in volcano-global'
    await write('amoro', amoro('m1', { note: 1 }))
    const opened = await open()
    await opened.reload()
    expect(told).toEqual(['loaded amoro', warning])
    await write('amoro', amoro('m2', { note: 1 }))
    await opened.reload()
    expect(told).toEqual(['loaded amoro', warning, 'loaded amoro', warning])
  })

  test('an invalid file keeps the last valid configuration, and is reported once', async () => {
    await write('amoro', amoro())
    const opened = await open()
    await write('amoro', '{"system": "amoro"}')
    await opened.reload()
    await opened.reload()
    expect(opened.get('amoro')?.clustersOf(located)).toEqual(['m1'])
    const message = '/amoro: endpoint.url: is required, e.g. https://catalog.example.com'
    expect(told).toEqual(['loaded amoro', message])
    expect(opened.list()).toMatchObject([{ system: 'amoro', configError: directory + message }])

    await write('amoro', amoro('m3'))
    await opened.reload()
    expect(opened.get('amoro')?.clustersOf(located)).toEqual(['m3'])
    expect(opened.list()[0]).not.toHaveProperty('configError')
  })

  test('subscribers are called with the changed systems, once for each change', async () => {
    // The first check would be another change.
    server.fault = () => 'hang'
    await write('amoro', amoro())
    const opened = await open()
    const heard: (readonly string[])[] = []
    const end = opened.subscribe((names) => heard.push(names))
    await opened.reload()
    await write('amoro', amoro('m2'))
    await write('archive', amoro('m2', { system: 'archive', plugin: 'amoro' }))
    await opened.reload()
    await unlink(join(directory, 'amoro'))
    await opened.reload()
    end()
    await unlink(join(directory, 'archive'))
    await opened.reload()
    expect(heard).toEqual([['amoro', 'archive'], ['amoro']])
    expect(told.slice(-2)).toEqual(['removed amoro', 'removed archive'])
    expect(opened.get('amoro')).toBeUndefined()
  })

  test('a running query is answered although its configuration is replaced', async () => {
    await write('amoro', amoro())
    const opened = await open()
    const gate = Promise.withResolvers<void>()
    const arrived = Promise.withResolvers<void>()
    const { serve } = server
    server.serve = async (request) => {
      if (request.path.endsWith('/user')) {
        arrived.resolve()
        await gate.promise
      }
      return serve(request)
    }
    const answer = opened.get('amoro')?.plugin.locate(query, never)
    await arrived.promise
    await write('amoro', amoro('m2'))
    await opened.reload()
    gate.resolve()
    expect(await answer).toMatchObject({ kind: 'located' })
  })

  test('an unreadable folder changes nothing, and is read when it appears again', async () => {
    await write('amoro', amoro())
    const opened = await open()
    await rename(directory, `${directory}-away`)
    await opened.reload()
    expect(opened.get('amoro')).toBeDefined()
    expect(opened.problems()).toEqual([
      { file: directory, message: `${directory}: cannot be read: no such file or directory` },
    ])
    await rename(`${directory}-away`, directory)
    await opened.reload()
    expect(opened.problems()).toEqual([])
  })

  test('a change is found by the poll', async () => {
    const opened = await open()
    await write('amoro', amoro())
    await expect
      .poll(() => {
        clock.advance(30_000)
        return opened.get('amoro') !== undefined
      })
      .toBe(true)
  })

  test('a change is reported by the file system, long before the poll', async () => {
    const opened = await open({ clock: systemClock, pollMs: 3_600_000 })
    await write('archive', 'system: static')
    await expect.poll(() => opened.get('static') !== undefined).toBe(true)
  })

  test('a file above 1 MiB is rejected, and the last valid configuration stays', async () => {
    await write('amoro', amoro())
    const opened = await open()
    await write('amoro', `${JSON.stringify(amoro('m2'))}${' '.repeat(1024 * 1024)}`)
    await opened.reload()
    expect(opened.get('amoro')?.clustersOf(located)).toEqual(['m1'])
    expect(told).toContain('/amoro: is larger than 1 MiB')
  })

  test('of two files for one system, the first by name counts', async () => {
    await write('a', amoro('m1'))
    await write('b', amoro('m2'))
    const opened = await open()
    expect(opened.get('amoro')?.clustersOf(located)).toEqual(['m1'])
    expect(told).toContain('/b: system: amoro is already configured in /a')
  })

  test('a file with another system replaces the first one', async () => {
    await write('one', amoro())
    const opened = await open()
    await write('one', 'system: static')
    await opened.reload()
    expect(opened.list().map(({ system }) => system)).toEqual(['static'])
  })

  test('a file whose name or text is not UTF-8 is reported, and keeps its last content', async () => {
    const named = (...bytes: number[]) => Buffer.concat([Buffer.from(join(directory, '/')), Buffer.from(bytes)])
    await writeFile(named(0x61), 'system: static')
    const opened = await open()
    await writeFile(named(0x61), Buffer.from([0x23, 0xe4]))
    await writeFile(named(0x62, 0xe4), JSON.stringify(amoro()))
    await opened.reload()
    expect(opened.list().map(({ system }) => system)).toEqual(['static'])
    expect(told).toEqual([
      'loaded static',
      '/a: is not UTF-8 text; save it as UTF-8',
      '/b\ufffd: has a name that is not UTF-8; rename it',
    ])
  })

  test('a missing TLS file is an error of the configuration', async () => {
    const endpoint = { url: server.url, tls: { caFile: 'gone.crt' } }
    await write('amoro', amoro('m1', { endpoint }))
    const opened = await open()
    expect(opened.get('amoro')).toBeUndefined()
    expect(told).toEqual(['/amoro: endpoint.tls.caFile: /gone.crt: no such file or directory'])
  })

  test('a TLS file without a certificate is an error of the configuration', async () => {
    await write('.ca.crt', 'a note, and no certificate')
    const tls = { caFile: '.ca.crt' }
    await write('amoro', amoro('m1', { endpoint: { url: server.url, tls } }))
    const opened = await open()
    expect(opened.get('amoro')).toBeUndefined()
    expect(told).toContain('/amoro: endpoint.tls.caFile: /.ca.crt: has no certificate in PEM form')
  })

  test('a client certificate that no connection can use does not replace the last one', async () => {
    const { cert, key } = selfSigned('localhost')
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const { privateKey: other } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
    const pem = { type: 'pkcs8', format: 'pem' } as const
    const broken = cert.replace(/\n[^-\n]{4}/, '\nAAAA')
    const pair = async (certText: string, keyText: string) => {
      await write('.tls.crt', certText)
      await write('.tls.key', keyText)
    }
    await pair(cert, key)
    const tls = { certFile: '.tls.crt', keyFile: '.tls.key' }
    await write('amoro', amoro('m1', { endpoint: { url: server.url, tls } }))
    const opened = await open()
    const first = opened.get('amoro')
    expect(first).toBeDefined()
    for (const [certText, keyText] of [
      [cert, privateKey.export(pem)],
      [cert, other.export(pem)],
      [cert, privateKey.export({ ...pem, cipher: 'aes-256-cbc', passphrase: 'secret' })],
      [broken, key],
    ] as [string, string][]) {
      await pair(certText, keyText)
      await opened.reload()
      expect(opened.get('amoro')).toBe(first)
    }
    expect(told).toEqual([
      'loaded amoro',
      '/amoro: endpoint.tls.keyFile: /.tls.key: is not the key of the certificate in certFile',
      '/amoro: endpoint.tls.keyFile: /.tls.key: has no private key in PEM form without a passphrase',
      '/amoro: endpoint.tls.certFile: /.tls.crt: has an invalid certificate',
    ])
    await pair(cert, key)
    await opened.reload()
    expect(opened.list()[0]).not.toHaveProperty('configError')
  })
})

describe('ETags', () => {
  const lake = () => ({ system: 'lake', plugin: 'iceberg-rest', endpoint: { url: server.url } })
  beforeEach(() => {
    server.serve = ({ path, headers }) => {
      if (path === '/v1/config') return { body: { defaults: {}, overrides: {} } }
      if (headers['if-none-match'] === 'v1') return { status: 304 }
      return { body: { metadata: { location: 's3://wh-dc1/t' } }, headers: { etag: 'v1' } }
    }
  })
  const table = { ...query, name: 'db.t' }

  test('are valid while the rules and the clusters stay the same', async () => {
    await write('lake', lake())
    const opened = await open()
    const ask = async (etag?: string) =>
      opened.get('lake')?.plugin.locate({ ...table, ...defined({ etag: etag || undefined }) }, never)
    const first = await ask()
    const etag = first?.kind === 'located' ? first.etag : undefined
    expect(await ask(etag)).toEqual({ kind: 'unchanged' })

    clusters = [{ apiVersion: 'v1', kind: 'Cluster', metadata: { name: 'm1' }, spec: { region: 'eu-west-1' } }]
    const second = await ask(etag)
    expect(second).toMatchObject({ kind: 'located' })
    const newer = second?.kind === 'located' ? second.etag : undefined
    await write('lake', { ...lake(), locationMapping: { 's3://wh-dc1': ['m1'] } })
    await opened.reload()
    expect(await ask(newer)).toMatchObject({ kind: 'located' })
  })
})

describe('health', () => {
  test('is unknown, then checked at once and at a jittered interval, beside queries', async () => {
    const gate = Promise.withResolvers<void>()
    const { serve } = server
    server.serve = async (request) => {
      if (request.path.endsWith('/health/status')) await gate.promise
      return serve(request)
    }
    await write('amoro', amoro())
    const checks: boolean[] = []
    const opened = await open({ observer: { health: ({ healthy }) => checks.push(healthy) } })
    expect(opened.list()[0]?.health).toEqual({ state: 'unknown' })
    expect(await opened.get('amoro')?.plugin.locate(query, never)).toMatchObject({ kind: 'located' })
    gate.resolve()
    await expect.poll(() => opened.list()[0]?.health.state).toBe('healthy')
    expect(clock.waits).toContain(30_000)

    server.fault = () => ({ status: 404 })
    await expect
      .poll(() => {
        clock.advance(30_000)
        return opened.list()[0]?.health.state
      })
      .toBe('unhealthy')
    expect(opened.list()[0]?.health.error).toEqual({
      code: 'rejected',
      message: `GET ${server.url}/api/ams/v1/health/status: HTTP 404`,
    })
    expect(checks.slice(0, 1)).toEqual([true])
  })

  test('subscribers are called once when a system becomes unhealthy or healthy', async () => {
    await write('amoro', amoro())
    const opened = await open()
    const state = () => opened.list()[0]?.health.state
    const heard: (readonly string[])[] = []
    await expect.poll(state).toBe('healthy')
    opened.subscribe((names) => heard.push(names))
    for (const [fault, want] of [
      [{ status: 404 }, 'unhealthy'],
      [undefined, 'healthy'],
    ] as const) {
      server.fault = () => fault
      await expect
        .poll(() => {
          clock.advance(30_000)
          return state()
        })
        .toBe(want)
    }
    expect(heard).toEqual([['amoro'], ['amoro']])
  })

  test('subscribers are called after the first check too', async () => {
    const gate = Promise.withResolvers<void>()
    const { serve } = server
    server.serve = async (request) => {
      await gate.promise
      return serve(request)
    }
    await write('amoro', amoro())
    const opened = await open()
    const heard: (readonly string[])[] = []
    opened.subscribe((names) => heard.push(names))
    gate.resolve()
    await expect.poll(() => opened.list()[0]?.health.state).toBe('healthy')
    expect(heard).toEqual([['amoro']])
  })

  test('stop ends a check without a response, and closes its connection', async () => {
    server.fault = () => 'hang'
    await write('amoro', amoro())
    const opened = await open()
    await expect.poll(() => server.requests.length).toBe(1)
    await opened.stop()
    await server.drained()
  })
})

describe('a ConfigMap that is read from the API server', () => {
  const configMap = (data: Record<string, string>): ConfigMap => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'plugins' },
    data,
  })
  let read: () => Promise<ConfigMap | undefined>
  const source = () => configMapSource({ namespace: 'data', name: 'plugins' }, () => read())
  const files = (opened: OpenedSystems) => opened.list().map(({ system, file }) => `${system}: ${file}`)

  test('has a system for each key, and is read again every ten seconds', async () => {
    read = async () => configMap({ static: 'system: static', amoro: JSON.stringify(amoro()) })
    const opened = await open({ source: source() })
    expect(files(opened)).toEqual(['amoro: ConfigMap data/plugins/amoro', 'static: ConfigMap data/plugins/static'])

    read = async () => configMap({ static: 'system: static' })
    await clock.advance(10_000)

    await expect.poll(() => files(opened)).toEqual(['static: ConfigMap data/plugins/static'])
  })

  test('names files relative to the working directory', async () => {
    const endpoint = { url: server.url, tls: { caFile: 'no-such-file' } }
    read = async () => configMap({ amoro: JSON.stringify(amoro('m1', { endpoint })) })
    await open({ source: source() })
    const want = `endpoint.tls.caFile: ${resolve('no-such-file')}: no such file or directory`
    expect(told).toEqual([`ConfigMap data/plugins/amoro: ${want}`])
  })

  test('has a system for a key with binary data too, and reports one that is not UTF-8', async () => {
    const base64 = (...bytes: number[]) => Buffer.from(bytes).toString('base64')
    const text = base64(...Buffer.from('system: static'))
    read = async () => ({ ...configMap({}), binaryData: { latin: base64(0x23, 0xe4), static: text } })
    const opened = await open({ source: source() })
    expect(files(opened)).toEqual(['static: ConfigMap data/plugins/static'])
    expect(told).toContain('ConfigMap data/plugins/latin: is not UTF-8 text; save it as UTF-8')
  })

  test.each<{ name: string; fails: () => Promise<undefined>; want: string }>([
    { name: 'was deleted', fails: async () => undefined, want: 'ConfigMap data/plugins: does not exist; create it' },
    {
      name: 'cannot be read',
      fails: () => Promise.reject(new Error('forbidden')),
      want: 'ConfigMap data/plugins: cannot be read (forbidden)',
    },
  ])('keeps its systems when it $name, and reports that once', async ({ fails, want }) => {
    read = async () => configMap({ static: 'system: static' })
    const opened = await open({ source: source() })
    read = fails

    await opened.reload()
    await opened.reload()

    expect(files(opened)).toEqual(['static: ConfigMap data/plugins/static'])
    expect(told).toEqual(['loaded static', want])
  })
})

test('there are no systems without a source', async () => {
  const opened = await openSystems({ clusters: () => [] })
  expect(opened.list()).toEqual([])
  await opened.stop()
})
