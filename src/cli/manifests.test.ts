import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import type { K8sObject } from '../api/meta.ts'
import type { WebhookConfiguration } from '../api/registration.ts'
import { buildRelatedKinds, RELATED_KIND_NAMES } from '../core/workload-kinds/related-kinds.ts'
import { makeFolder, runWords } from './cli.fake.ts'
import { generatedFiles } from './manifests.ts'

const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

async function printed(...words: string[]): Promise<K8sObject[]> {
  const { status, stdout, stderr } = await runWords(['manifests', ...words])
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  return parseAllDocuments(stdout).map((document) => document.toJS())
}

async function clientConfigs(...words: string[]) {
  const configurations = (await printed('registration', ...words)) as WebhookConfiguration[]
  return configurations.flatMap(({ webhooks = [] }) => webhooks.map(({ clientConfig }) => clientConfig))
}

const crds = Array(3).fill('CustomResourceDefinition') as string[]
const registration = ['MutatingWebhookConfiguration', 'ValidatingWebhookConfiguration']
const role = ['ClusterRole', 'ClusterRoleBinding']
const rbac = [...Array.from({ length: 8 }, () => role).flat(), 'ClusterRole', 'ClusterRole', 'ClusterRole']
// The ClusterRole of movers is bound in the namespaces of movers.
const volumes = [...role, ...role, 'StorageClass', ...role, ...role, 'ClusterRole', ...role, ...role]
const interpreter = ['ResourceInterpreterWebhookConfiguration']

describe('prints the requested parts in the order in which they can be applied', () => {
  test.each([
    { words: ['crds'], want: crds },
    { words: ['registration'], want: registration },
    { words: ['rbac'], want: rbac },
    { words: ['interpreter'], want: interpreter },
    { words: ['volumes'], want: volumes },
    { words: ['volumes', 'rbac'], want: [...rbac, ...volumes] },
    { words: ['rbac', 'crds'], want: [...crds, ...rbac] },
    { words: ['interpreter', 'registration'], want: [...registration, ...interpreter] },
    { words: [], want: [...crds, ...registration, ...rbac] },
  ])('$words', async ({ words, want }) => {
    const objects = await printed(...words)

    expect(objects.map(({ kind }) => kind)).toEqual(want)
  })
})

const ALWAYS = ['lodestone', 'lodestone-loops', 'lodestone-registration']
const DISTRIBUTION = ['lodestone-dependencies', 'lodestone-distribution', 'lodestone-interpreter']

describe('with a configuration, the rights are those that its features need', () => {
  const namesOf = async (part: string, config: object) => {
    const folder = makeFolder({ 'lodestone.yaml': config })
    const { stdout } = await runWords(['manifests', part, '--config', join(folder, 'lodestone.yaml')])
    const objects = parseAllDocuments(stdout).map((document) => document.toJS() as K8sObject | null)
    return objects.flatMap((object) => (object?.kind === 'ClusterRole' ? [object.metadata.name] : []))
  }

  test.each([
    { config: {}, want: [...ALWAYS, ...DISTRIBUTION] },
    { config: { dependencies: { distribution: 'builtin' } }, want: [...ALWAYS, ...DISTRIBUTION] },
    { config: { dependencies: { distribution: 'none' } }, want: ALWAYS },
    { config: { kueue: { enabled: true } }, want: [...ALWAYS, ...DISTRIBUTION, 'lodestone-kueue'] },
    {
      config: { kueue: { enabled: true, multiKueue: { enabled: true } } },
      want: [...ALWAYS, ...DISTRIBUTION, 'lodestone-kueue', 'lodestone-multikueue'],
    },
    {
      config: { registration: { mode: 'none' } },
      want: ['lodestone', 'lodestone-loops', 'lodestone-dependencies', 'lodestone-distribution'],
    },
    {
      config: { loops: { enabled: false } },
      want: ['lodestone', 'lodestone-registration', 'lodestone-dependencies', 'lodestone-interpreter'],
    },
  ])('with $config: $want', async ({ config, want }) => {
    const names = await namesOf('rbac', { registration: { mode: 'service' }, ...config })
    expect(names).toEqual([...want, 'lodestone-view', 'lodestone-edit', 'lodestone-admin'])
  })

  const loops = ['lodestone-gates', 'lodestone-volumes', 'lodestone-volume-loops', 'lodestone-mover-pods']
  const own = [...loops, 'lodestone-mover', 'lodestone-mover-logs', 'lodestone-mover-access']

  test.each([
    { volumes: { enabled: true }, want: own },
    {
      volumes: { enabled: true, movers: { namespace: 'movers', logLines: 0 } },
      want: [...loops, 'lodestone-mover', 'lodestone-credentials', 'lodestone-credential-copies'],
    },
    { volumes: { enabled: true, whenNotReady: 'refuse' }, want: own },
    { volumes: { enabled: false }, want: ['lodestone-gates'] },
    { volumes: { enabled: false, whenNotReady: 'refuse' }, want: [] },
  ])('with $volumes: $want', async ({ volumes, want }) => {
    expect(await namesOf('volumes', { volumes })).toEqual(want)
  })

  test('without loops: to read volumes', async () => {
    const config = { volumes: { enabled: true, movers: { namespace: 'movers' } }, loops: { enabled: false } }
    expect(await namesOf('volumes', config)).toEqual(['lodestone-volumes'])
  })
})

test('a namespace such as `on` is a text for kubectl, which reads YAML 1.1', async () => {
  const folder = makeFolder({ 'lodestone.yaml': { leaderElection: { namespace: 'on' } } })
  const { stdout } = await runWords(['manifests', 'election', '--config', join(folder, 'lodestone.yaml')])
  const objects = parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS() as K8sObject)

  expect(objects.map(({ metadata }) => metadata.namespace)).toEqual(['on', 'on'])
})

test('with a namespace for all movers, rights on their Pods and Secrets are only there', async () => {
  const config = { volumes: { enabled: true, movers: { namespace: 'movers' } } }
  const file = join(makeFolder({ 'lodestone.yaml': config }), 'lodestone.yaml')

  const { stdout } = await runWords(['manifests', 'volumes', '--config', file])

  const objects = parseAllDocuments(stdout).map((document) => document.toJS() as K8sObject)
  const bindings = objects.filter(({ kind }) => kind === 'RoleBinding').map(({ metadata }) => metadata)
  expect(bindings).toEqual([
    { name: 'lodestone-mover-pods', namespace: 'movers' },
    { name: 'lodestone-mover-logs', namespace: 'movers' },
    { name: 'lodestone-mover', namespace: 'movers' },
    { name: 'lodestone-credential-copies', namespace: 'movers' },
  ])
  const inCluster = objects.filter(({ kind }) => kind === 'ClusterRoleBinding').map(({ metadata }) => metadata.name)
  expect(inCluster).toEqual(['lodestone-gates', 'lodestone-volumes', 'lodestone-volume-loops', 'lodestone-credentials'])
  const accounts = objects.filter(({ kind }) => kind === 'ServiceAccount').map(({ metadata }) => metadata)
  expect(accounts).toEqual([{ name: 'lodestone-mover', namespace: 'movers' }])
})

test('the registration names a Service unless a URL is given', async () => {
  for (const { service, url } of await clientConfigs()) {
    expect(service).toMatchObject({ namespace: 'lodestone-system', name: 'lodestone', port: 443 })
    expect(url).toBeUndefined()
  }
})

test('--url is the address of each webhook, with or without a slash at its end', async () => {
  const plain = await clientConfigs('--url', 'https://10.0.0.7:9443')
  const withSlash = await clientConfigs('--url', 'https://10.0.0.7:9443/')

  expect(plain[0]).toEqual({ url: 'https://10.0.0.7:9443/mutate/resource-binding' })
  expect(withSlash).toEqual(plain)
})

test('--ca is the trusted CA, and without it Lodestone sets the CA later', async () => {
  const file = join(makeFolder({ 'ca.crt': CA }), 'ca.crt')

  const given = await clientConfigs('--ca', file)
  const left = await clientConfigs()

  for (const { caBundle = '' } of given) expect(Buffer.from(caBundle, 'base64').toString()).toBe(CA)
  for (const { caBundle } of left) expect(caBundle).toBeUndefined()
})

test('the registration for Karmada has the same URL and CA, or is empty', async () => {
  const folder = makeFolder({ 'ca.crt': CA, 'lodestone.yaml': { dependencies: { distribution: 'builtin' } } })
  const file = join(folder, 'lodestone.yaml')

  const [asked] = await printed('interpreter', '--url', 'https://10.0.0.7:9443', '--ca', join(folder, 'ca.crt'))
  const { stdout } = await runWords(['manifests', 'interpreter', '--config', file])

  expect(asked).toMatchObject({
    webhooks: [
      {
        clientConfig: {
          url: 'https://10.0.0.7:9443/interpret/dependencies',
          caBundle: Buffer.from(CA).toString('base64'),
        },
      },
    ],
  })
  expect(stdout).toBe('')
})

test('the registration follows the configuration file', async () => {
  const folder = makeFolder({
    'lodestone.yaml': { registration: { service: { namespace: 'here', name: 'me', port: 8443 } } },
  })

  const [first] = await clientConfigs('--config', join(folder, 'lodestone.yaml'))

  expect(first?.service).toEqual({ namespace: 'here', name: 'me', port: 8443, path: '/mutate/resource-binding' })
})

test('--write writes the generated files into the repository, and prints their paths', async () => {
  const folder = makeFolder()

  const { status, stdout } = await runWords(['manifests', '--write', folder])

  const files = Object.entries(generatedFiles())
  expect({ status, stdout }).toEqual({
    status: 0,
    stdout: files.map(([name]) => `wrote ${join(folder, name)}\n`).join(''),
  })
  for (const [name, content] of files) expect(readFileSync(join(folder, name), 'utf8')).toBe(content)
})

test.each([
  { words: ['--config', 'lodestone.yaml'], ignored: '--config' },
  { words: ['--url', 'https://10.0.0.7:9443'], ignored: '--url' },
  { words: ['--ca', 'ca.crt'], ignored: '--ca' },
  { words: ['rbac'], ignored: 'rbac' },
])('--write with $ignored is a mistake, since its files do not depend on it', async ({ words, ignored }) => {
  const folder = makeFolder()
  const { status, stderr } = await runWords(['manifests', '--write', folder, ...words])
  expect({ status, stderr }).toEqual({
    status: 2,
    stderr: expect.stringContaining(`--write writes all generated files and ignores ${ignored}; `),
  })
  expect(readdirSync(folder)).toEqual([])
})

describe('the chart', () => {
  const chart = join(import.meta.dirname, '..', '..', 'charts', 'lodestone')
  const template = readFileSync(join(chart, 'templates', 'rbac.yaml'), 'utf8')
  const [beforeCluster = '', inCluster = ''] = template.split('{{- if ne .Values.mode "hub" }}')
  /** The rows of the table of roles: name, condition and namespace. */
  const rows = [...inCluster.matchAll(/^ {2}\(list "([\w-]+)" (\(.*\)|\S+) (\S+)\)$/gm)].map(([, ...row]) => row)

  test('binds all its generated roles, except those of users, movers, hooks and the page', () => {
    const prefix = 'charts/lodestone/files/roles/'
    const generated = Object.keys(generatedFiles()).filter((name) => name.startsWith(prefix))
    const ofOthers = ['view', 'edit', 'admin', 'mover', 'uninstall', 'page'].map((name) => `lodestone-${name}`)
    const named = [...rows.map(([name]) => name), ...ofOthers].map((name) => `${prefix}${name}.yaml`)
    expect(named.sort()).toEqual(generated.sort())
  })

  test('has the resource of each related kind', () => {
    const rights = readFileSync(join(chart, 'templates', 'workload-kinds.yaml'), 'utf8')
    const written = [...rights.matchAll(/"(\w+)" \(dict "group" "([^"]+)" "plural" "([^"]+)"\)/g)].map(
      ([, ...words]) => words,
    )
    const kinds = buildRelatedKinds({ related: RELATED_KIND_NAMES, relatedKinds: [] })
    expect(written).toEqual(kinds.map(({ type }) => [type.kind, type.group, type.plural]))
  })

  test('grants roles for enabled features only, and for a hub in its own namespace only', () => {
    expect(beforeCluster).not.toContain('ClusterRole')
    expect(rows.filter(([, condition]) => condition === 'true')).toEqual([['lodestone', 'true', '""']])
    const inMovers = rows.filter(([, , namespace]) => namespace === '$movers').map(([name]) => name)
    expect(inMovers).toEqual(['lodestone-mover-pods', 'lodestone-mover-logs', 'lodestone-credential-copies'])
  })
})
