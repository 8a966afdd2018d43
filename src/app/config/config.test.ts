import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { completeConfig, configSchema, DEFAULT_CONFIG, isDispatcher, loadConfig, URL_PATTERN } from './config.ts'
import { ConfigError } from './config-file.ts'

const FILE = 'lodestone.yaml'

function complaintAbout(given: unknown): string {
  let complaint: unknown
  try {
    completeConfig(given, FILE)
  } catch (error) {
    complaint = error
  }
  expect(complaint, JSON.stringify(given)).toBeInstanceOf(ConfigError)
  return (complaint as Error).message
}

/** Every setting in the schema, by path: `['server', 'port']`. */
function settingsOf(schema: object, path: string[] = []): { path: string[]; schema: object }[] {
  const { properties } = schema as { properties?: Record<string, object> }
  const here = path.length === 0 ? [] : [{ path, schema }]
  return [...here, ...Object.entries(properties ?? {}).flatMap(([name, child]) => settingsOf(child, [...path, name]))]
}

const settings = settingsOf(configSchema)
const at = (path: string[], value: unknown) => path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value)

const GADGET = { group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }

describe('the defaults are used', () => {
  test.each([
    { given: undefined },
    { given: null },
    { given: {} },
    { given: { server: {}, log: {} } },
    { given: { server: null, log: { level: null } } },
  ])('$given', ({ given }) => {
    expect(completeConfig(given, FILE)).toEqual(DEFAULT_CONFIG)
  })

  test('without a file', () => {
    expect(loadConfig(undefined)).toEqual(DEFAULT_CONFIG)
  })

  test('and are valid themselves', () => {
    expect(completeConfig(DEFAULT_CONFIG, FILE)).toEqual(DEFAULT_CONFIG)
  })
})

describe('given settings replace the defaults', () => {
  test('a single setting leaves the others unchanged', () => {
    const { server, registration } = completeConfig({ server: { port: 0 } }, FILE)

    expect(server).toEqual({ ...DEFAULT_CONFIG.server, port: 0 })
    expect(registration).toEqual(DEFAULT_CONFIG.registration)
  })

  test('a list replaces the list', () => {
    const { registration } = completeConfig({ registration: { excludedNamespaces: [] } }, FILE)

    expect(registration.excludedNamespaces).toEqual([])
  })

  test.each(['::', '::1', '::ffff:127.0.0.1', 'fe80::1%eth0', '10.0.0.7', 'localhost', 'node_1.example.org.'])(
    'the host to listen on may be %s',
    (host) => {
      const { server } = completeConfig({ server: { host, healthHost: host } }, FILE)

      expect(server).toMatchObject({ host, healthHost: host })
    },
  )

  test('a setting without a default is added', () => {
    const { server } = completeConfig({ server: { clientCaFile: 'ca.crt' } }, FILE)

    expect(server.clientCaFile).toBe('ca.crt')
  })

  test('the defaults are never changed', () => {
    const before = structuredClone(DEFAULT_CONFIG)

    completeConfig({ server: { port: 1 }, certificates: { hosts: ['a'] } }, FILE)

    expect(DEFAULT_CONFIG).toEqual(before)
  })
})

describe('a file', () => {
  function write(text: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'lodestone-config-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    writeFileSync(join(folder, FILE), text)
    return join(folder, FILE)
  }

  test.each([
    { name: 'YAML', text: 'log:\n  level: debug\n' },
    { name: 'JSON', text: '{"log": {"level": "debug"}}' },
  ])('may be $name', ({ text }) => {
    expect(loadConfig(write(text)).log.level).toBe('debug')
  })

  test('may be empty', () => {
    expect(loadConfig(write('# nothing yet\n'))).toEqual(DEFAULT_CONFIG)
  })

  test.each([
    { name: 'broken YAML', text: 'log: [' },
    { name: 'a key given twice', text: 'log: {}\nlog: {}\n' },
    { name: 'a list', text: '- log' },
  ])('that is $name is reported by its name', ({ text }) => {
    const file = write(text)

    expect(() => loadConfig(file)).toThrow(ConfigError)
    expect(() => loadConfig(file)).toThrow(`${file}:`)
  })

  test('that does not exist is reported by its name', () => {
    expect(() => loadConfig('none.yaml')).toThrow(/^none\.yaml: no such file or directory$/)
  })
})

describe('a price matrix', () => {
  const link = { from: { region: 'eu' }, to: {}, pricePerGiB: 0.02 }

  test.each([
    {
      links: [{ ...link, pricePerGiB: -1 }],
      want: 'transferCosts.links[0].pricePerGiB: must be greater than or equal to 0',
    },
    { links: [{ ...link, price: 1 }], want: 'transferCosts.links[0].price: unknown field' },
    { links: [{ ...link, from: { zone: 'a' } }], want: 'transferCosts.links[0].from.zone: unknown field' },
    { links: [{ to: {}, pricePerGiB: 1 }], want: 'transferCosts.links[0].from: is required' },
    { links: [{ ...link, bytesPerSecond: 'fast' }], want: 'must be an amount of bytes such as 100Mi' },
    { links: [link, link], want: 'transferCosts.links[1].pricePerGiB: has no effect' },
    { links: Array(1001).fill(link), want: 'transferCosts.links: ' },
  ])('with the error $want', ({ links, want }) => {
    expect(complaintAbout({ transferCosts: { links } })).toContain(want)
  })

  test('is read as it is', () => {
    const transferCosts = { currency: 'EUR', links: [link] }
    expect(completeConfig({ transferCosts }, FILE).transferCosts).toEqual(transferCosts)
  })
})

describe('every setting of a wrong type is reported by its path', () => {
  test.each(settings.map(({ path, schema }) => ({ path, schema, name: path.join('.') })))(
    '$name',
    ({ path, schema, name }) => {
      const wrong = 'type' in schema && schema.type === 'array' ? 'text' : []
      expect(complaintAbout(at(path, wrong))).toContain(`${name}: must be `)
    },
  )
})

describe('an unknown setting is reported by its path, in every section', () => {
  const sections = settings.filter(({ schema }) => 'properties' in schema).map(({ path }) => path)

  test.each([[], ...sections].map((path) => ({ path, name: [...path, 'mistyped'].join('.') })))(
    '$name',
    ({ path, name }) => {
      expect(complaintAbout(at(path, { mistyped: 1 }))).toContain(`${name}: unknown field`)
    },
  )
})

describe('a value outside of its range is reported by its path', () => {
  test.each([
    { given: { server: { port: 65536 } }, want: 'server.port' },
    { given: { server: { port: 1.5 } }, want: 'server.port' },
    { given: { server: { healthPort: -1 } }, want: 'server.healthPort' },
    { given: { registration: { service: { port: 0 } } }, want: 'registration.service.port' },
    { given: { server: { host: '' } }, want: 'server.host' },
    { given: { server: { host: '127.0.0.1:80' } }, want: 'server.host' },
    { given: { server: { host: '[::1]' } }, want: 'server.host' },
    { given: { server: { host: 'http://localhost' } }, want: 'server.host' },
    { given: { server: { healthHost: 'localhost:8080' } }, want: 'server.healthHost' },
    { given: { server: { maxInFlight: 0 } }, want: 'server.maxInFlight' },
    { given: { server: { maxConnections: 9 } }, want: 'server.maxConnections' },
    { given: { server: { maxBytesInFlight: '64MB' } }, want: 'server.maxBytesInFlight' },
    { given: { server: { maxBytesInFlight: '6Mi' } }, want: 'server.maxBytesInFlight' },
    { given: { server: { livenessStallSeconds: 0 } }, want: 'server.livenessStallSeconds' },
    { given: { server: { clientNames: ['kube-apiserver'] } }, want: 'server.clientNames' },
    { given: { server: { drainSeconds: 301 } }, want: 'server.drainSeconds' },
    { given: { registration: { mode: 'urls' } }, want: 'registration.mode' },
    { given: { registration: { timeoutSeconds: 31 } }, want: 'registration.timeoutSeconds' },
    { given: { registration: { excludedNamespaces: ['a', ''] } }, want: 'registration.excludedNamespaces[1]' },
    { given: { registration: { excludedNamespaces: ['a', 'team-*'] } }, want: 'registration.excludedNamespaces[1]' },
    { given: { registration: { service: { name: 'lode_stone' } } }, want: 'registration.service.name' },
    { given: { registration: { service: { name: 'a'.repeat(64) } } }, want: 'registration.service.name' },
    { given: { certificates: { secret: { namespace: 'Team A' } } }, want: 'certificates.secret.namespace' },
    { given: { certificates: { secret: { name: 'a/b' } } }, want: 'certificates.secret.name' },
    { given: { leaderElection: { namespace: 'a.b' } }, want: 'leaderElection.namespace' },
    { given: { leaderElection: { name: 'Lodestone' } }, want: 'leaderElection.name' },
    { given: { leaderElection: { name: 'a'.repeat(254) } }, want: 'leaderElection.name' },
    { given: { systems: { configMap: { namespace: 'a', name: 'data systems' } } }, want: 'systems.configMap.name' },
    { given: { systems: { configMap: { namespace: 'a b', name: 'a' } } }, want: 'systems.configMap.namespace' },
    { given: { volumes: { movers: { serviceAccountName: 'a:b' } } }, want: 'volumes.movers.serviceAccountName' },
    { given: { volumes: { movers: { imagePullSecrets: ['a', ''] } } }, want: 'volumes.movers.imagePullSecrets[1]' },
    { given: { volumes: { movers: { priorityClassName: 'High' } } }, want: 'volumes.movers.priorityClassName' },
    { given: { registration: { service: { namespace: 'Team A' } } }, want: 'registration.service.namespace' },
    { given: { certificates: { source: 'vault' } }, want: 'certificates.source' },
    { given: { certificates: { hosts: [7] } }, want: 'certificates.hosts[0]' },
    { given: { volumes: { allowedRoots: [] } }, want: 'volumes.allowedRoots' },
    { given: { volumes: { allowedRoots: ['/data/../etc'] } }, want: 'volumes.allowedRoots[0]' },
    { given: { volumes: { allowedRoots: ['/'] } }, want: 'volumes.allowedRoots[0]' },
    { given: { volumes: { allowedLocalNetworks: ['::1', '127.0.0.0/33'] } }, want: 'volumes.allowedLocalNetworks[1]' },
    { given: { volumes: { localRoots: ['srv'] } }, want: 'volumes.localRoots[0]' },
    { given: { volumes: { localRoots: ['/srv', '/var/datasets/public'] } }, want: 'volumes.localRoots[1]' },
    {
      given: { volumes: { eviction: { highWatermarkPercent: 80, lowWatermarkPercent: 80 } } },
      want: 'volumes.eviction.lowWatermarkPercent',
    },
    { given: { volumes: { localRoots: ['/var'] } }, want: 'volumes.localRoots[0]' },
    { given: { volumes: { localRoots: ['/srv/a', '/srv'], localPaths: 'roots' } }, want: 'volumes.localRoots[0]' },
    { given: { volumes: { localPaths: 'exact' } }, want: 'volumes.localPaths' },
    { given: { volumes: { localRoots: ['/srv/a/'], allowedRoots: ['/srv/a'] } }, want: 'volumes.localRoots[0]' },
    { given: { volumes: { movers: { keepFree: '1.5G' } } }, want: 'volumes.movers.keepFree' },
    { given: { volumes: { movers: { keepFree: '8Pi' } } }, want: 'volumes.movers.keepFree' },
    { given: { volumes: { movers: { image: 'mover ' } } }, want: 'volumes.movers.image' },
    { given: { volumes: { movers: { stsEndpoint: 'https://a b' } } }, want: 'volumes.movers.stsEndpoint' },
    { given: { registration: { mode: 'url', url: 'https://a b' } }, want: 'registration.url' },
    { given: { registration: { mode: 'url', url: 'https://a:99999' } }, want: 'registration.url' },
    { given: { registration: { url: 'https://a|b/' } }, want: 'registration.url' },
    { given: { registration: { mode: 'url', url: 'https://lode_stone.example.org' } }, want: 'registration.url' },
    { given: { loops: { driftIntervalSeconds: 2_147_484 } }, want: 'loops.driftIntervalSeconds' },
    { given: { volumes: { movers: { maxPerNode: 1001 } } }, want: 'volumes.movers.maxPerNode' },
    {
      given: { volumes: { movers: { resources: { limits: { memory: '..' } } } } },
      want: 'volumes.movers.resources.limits.memory',
    },
    {
      given: { volumes: { movers: { resources: { requests: { memory: '1Gi' } } } } },
      want: 'volumes.movers.resources.requests[memory]',
    },
    {
      given: { volumes: { movers: { resources: { limits: { gpu: '1' } } } } },
      want: 'volumes.movers.resources.limits[gpu]',
    },
    ...Object.entries({
      allowedPriorityClassNames: ['batch'],
      allowedTolerationKeys: ['dedicated'],
      allowedServiceAccountNames: ['reader'],
      stsEndpoint: 'http://sts.example.org',
      maxResources: { cpu: '2' },
    }).map(([name, value]) => ({ given: { volumes: { movers: { [name]: value } } }, want: `volumes.movers.${name}` })),
    {
      given: { volumes: { movers: { namespace: 'movers', maxResources: { cpu: 'many' } } } },
      want: 'volumes.movers.maxResources.cpu',
    },
    { given: { workloadKinds: [{ ...GADGET, templates: 'spec.template' }] }, want: 'workloadKinds[0].templates' },
    { given: { workloadKinds: [{ ...GADGET, template: [] }] }, want: 'workloadKinds[0].template' },
    { given: { workloadKinds: [{ ...GADGET, templates: ['spec[0]'] }] }, want: 'workloadKinds[0].templates[0]' },
    { given: { workloadKinds: [GADGET, GADGET] }, want: 'workloadKinds[1].kind' },
    {
      given: { workloadKinds: [{ ...GADGET, group: '', kind: 'Pod', plural: 'pods' }] },
      want: 'workloadKinds[0].kind',
    },
    { given: { workloadKinds: [{ ...GADGET, group: '', kind: 'Secret' }] }, want: 'workloadKinds[0].kind' },
    { given: { workloadKinds: Array(201).fill(GADGET) }, want: 'workloadKinds' },
    { given: { dependencies: { relatedKinds: Array(51).fill(GADGET) } }, want: 'dependencies.relatedKinds' },
    { given: { dependencies: { related: ['NetworkPolicies'] } }, want: 'dependencies.related[0]' },
    {
      given: { dependencies: { relatedKinds: [{ ...GADGET, podPaths: ['/'] }] } },
      want: 'dependencies.relatedKinds[0].podPaths[0]',
    },
    {
      given: { dependencies: { relatedKinds: [{ ...GADGET, group: 'apps', kind: 'Deployment' }] } },
      want: 'dependencies.relatedKinds[0].kind',
    },
    {
      given: { dependencies: { neverPropagated: [{ kind: 'ConfigMap' }] } },
      want: 'dependencies.neverPropagated[0].name',
    },
    {
      given: { dependencies: { neverPropagated: [{ kind: 'Deployment', name: 'a' }] } },
      want: 'dependencies.neverPropagated[0].kind',
    },
    { given: { log: { level: 'loud' } }, want: 'log.level' },
    { given: { log: { format: 'xml' } }, want: 'log.format' },
  ])('$want of $given', ({ given, want }) => {
    expect(complaintAbout(given)).toContain(`${want}: `)
  })

  test('all errors together', () => {
    const complaint = complaintAbout({ server: { port: -1, host: '' }, log: { level: 'loud' } })

    for (const path of ['server.port', 'server.host', 'log.level']) expect(complaint).toContain(`${path}: `)
  })
})

describe('the URL with which a hub calls Lodestone', () => {
  test.each([
    'https://10.0.0.7:9443',
    'https://lodestone.example.org',
    'https://lodestone.example.org/',
    'https://lodestone.example.org/hub/one',
    'https://[2001:db8::1]:9443',
  ])('accepts %s', (url) => {
    expect(URL_PATTERN.test(url)).toBe(true)
    expect(completeConfig({ registration: { mode: 'url', url } }, FILE).registration.url).toBe(url)
  })

  test.each([
    '',
    'http://lodestone.example.org',
    'lodestone.example.org',
    'https://',
    'https://user@lodestone.example.org',
    'https://lodestone.example.org?a=b',
    'https://lodestone.example.org/a#b',
  ])('rejects %j', (url) => {
    expect(complaintAbout({ registration: { mode: 'url', url } })).toContain('registration.url: ')
  })

  test('may have a host that only a certificate in files can have', () => {
    const url = 'https://lode_stone.example.org'
    const given = { registration: { mode: 'url', url }, certificates: { source: 'files' } }
    expect(completeConfig(given, FILE).registration.url).toBe(url)
  })

  test('is required with mode url', () => {
    expect(complaintAbout({ registration: { mode: 'url' } })).toContain('registration.url: is required with mode url')
  })
})

describe('the dispatcher of MultiKueue', () => {
  test.each([
    { kueue: {}, nominates: false },
    { kueue: { enabled: true }, nominates: false },
    { kueue: { enabled: true, multiKueue: { enabled: true } }, nominates: true },
  ])('with $kueue: $nominates', ({ kueue, nominates }) => {
    expect(isDispatcher(completeConfig({ kueue }, FILE))).toBe(nominates)
  })

  test('requires the loops of Kueue', () => {
    expect(complaintAbout({ kueue: { multiKueue: { enabled: true } } })).toContain(
      'kueue.multiKueue.enabled: requires kueue.enabled: true',
    )
  })
})
