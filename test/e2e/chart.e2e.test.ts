// The chart with the real helm against a real API server: the server accepts its objects, and its rights are exactly enough.
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import type { PolicyRule } from '../../src/api/rbac.ts'
import type { WebhookConfiguration } from '../../src/api/registration.ts'
import { ensureHelm } from './binaries.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { lodestoneUser, startLodestone } from './lodestone.ts'
import { type CommandResult, runCommand } from './processes.ts'

const chart = join(import.meta.dirname, '..', '..', 'charts', 'lodestone')
const namespace = 'lodestone-system'
const namespaceOf = (name: string) => ({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
const ipBlock = (cidr: string) => ({ ipBlock: { cidr } })

let plane: ControlPlane
let folder: string
let program: string

beforeAll(async () => {
  program = await ensureHelm()
  folder = await mkdtemp(join(tmpdir(), 'lodestone-chart-'))
  plane = await startControlPlane({ karmada: false })
  await plane.apply(namespaceOf(namespace))
})
afterAll(async () => {
  await plane?.stopAll()
  await rm(folder, { recursive: true, force: true })
})

async function helm(words: string[], values?: object): Promise<CommandResult> {
  const file = join(folder, 'values.yaml')
  if (values) await writeFile(file, stringify(values))
  const args = [...words, '--namespace', namespace, ...(values ? ['--values', file] : [])]
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder, KUBECONFIG: plane.kubeconfig }
  return runCommand(program, args, { cwd: folder, env, timeoutMs: 120_000 })
}

const render = (values: object) => helm(['template', 'lodestone', chart, '--validate'], values)
const system = { to: [ipBlock('10.2.0.0/16')], ports: [443] }
const networkPolicy = { enabled: true, apiServer: { from: [ipBlock('10.0.0.0/28')] }, systems: [system] }

const noPeers = (configMap: object) => ({
  config: { systems: { configMap } },
  networkPolicy: { ...networkPolicy, systems: [] },
})

describe('the API server accepts what helm renders', () => {
  test.each([
    { what: 'by default', values: {} },
    { what: 'where data is moved', values: { config: { volumes: { enabled: true } } } },
    { what: 'with a NetworkPolicy', values: { networkPolicy } },
    {
      what: 'with a ConfigMap for data systems, and one namespace for movers',
      values: {
        config: {
          systems: { configMap: { namespace, name: 'plugins' } },
          volumes: { enabled: true, movers: { namespace } },
        },
      },
    },
    {
      what: 'with workload kinds of its own',
      values: {
        config: {
          workloadKinds: [{ group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }],
          dependencies: { distribution: 'builtin', related: ['NetworkPolicy', 'RoleBinding'] },
        },
      },
    },
    {
      what: 'for a hub, with data systems and a NetworkPolicy',
      values: {
        kubeconfigSecret: { name: 'hub' },
        registration: { mode: 'url' },
        systems: { lake: { system: 'lake' } },
        networkPolicy: {
          ...networkPolicy,
          apiServer: {
            from: [{ podSelector: { matchLabels: { app: 'karmada-apiserver' } } }],
            to: [ipBlock('10.0.0.0/8')],
          },
          prometheus: { from: [{ namespaceSelector: {} }] },
        },
      },
    },
  ])('$what', async ({ values }) => {
    const { stdout, stderr, code } = await render(values)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const applied = await plane.kubectl(['apply', '--dry-run=server', '--namespace', namespace, '-f', '-'], {
      input: stdout,
    })

    const objects = parseAllDocuments(stdout).filter((document) => document.contents !== null)
    expect(applied.stdout.trim().split('\n')).toHaveLength(objects.length)
  })
})

describe('a ConfigMap for data systems', () => {
  const configMap = { namespace, name: 'plugins' }

  test.each([
    { what: 'without a name: its Role would allow all', values: { config: { systems: { configMap: { namespace } } } } },
    { what: 'without a namespace', values: { config: { systems: { configMap: { name: 'plugins' } } } } },
    { what: 'beside data systems in values', values: { systems: { lake: {} }, config: { systems: { configMap } } } },
    { what: 'whose peers a NetworkPolicy does not name', values: noPeers(configMap) },
  ])('is not rendered $what', async ({ values }) => {
    const { code, stderr } = await render(values)

    expect(code).not.toBe(0)
    expect(stderr).toMatch(/config\.systems\.configMap|networkPolicy\.systems/)
  })

  test('is for the administrator of a hub to allow there', async () => {
    const { stdout } = await render({ kubeconfigSecret: { name: 'hub' }, config: { systems: { configMap } } })

    expect(stdout).toContain('name: plugins')
    expect(stdout).not.toContain('name: lodestone-systems')
  })
})

describe('the NetworkPolicy', () => {
  test('is not there unless it is asked for', async () => {
    expect((await render({})).stdout).not.toContain('NetworkPolicy')
  })

  test('lets in the API server and Prometheus, and out what Lodestone needs', async () => {
    const prometheus = { from: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }] }
    const { stdout } = await render({ networkPolicy: { ...networkPolicy, prometheus } })
    const policy = parseAllDocuments(stdout)
      .map((document) => document.toJS())
      .find((object) => object?.kind === 'NetworkPolicy')

    const tcp = (...ports: number[]) => ports.map((port) => ({ protocol: 'TCP', port }))
    const dns = [{ namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } } }]
    const { from } = networkPolicy.apiServer
    expect(policy.spec).toEqual({
      podSelector: {
        matchLabels: { 'app.kubernetes.io/name': 'lodestone', 'app.kubernetes.io/instance': 'lodestone' },
      },
      policyTypes: ['Ingress', 'Egress'],
      ingress: [
        { from, ports: tcp(9443) },
        { ...prometheus, ports: tcp(8080) },
      ],
      egress: [
        { to: from, ports: tcp(443, 5443, 6443) },
        { to: dns, ports: [{ protocol: 'UDP', port: 53 }, ...tcp(53)] },
        { to: system.to, ports: tcp(443) },
      ],
    })
  })

  test.each([
    { what: 'the API server', values: { enabled: true }, want: 'networkPolicy.apiServer.from' },
    { what: 'data systems', values: { ...networkPolicy, systems: [] }, want: 'networkPolicy.systems' },
    {
      what: 'the peers of a system',
      values: { ...networkPolicy, systems: [{ ports: [443] }] },
      want: 'name its peers (to)',
    },
    {
      what: 'the ports of a system',
      values: { ...networkPolicy, systems: [{ to: system.to }] },
      want: 'and its ports',
    },
    { what: 'DNS', values: { ...networkPolicy, dns: { to: [] } }, want: 'networkPolicy.dns.to' },
  ])('is not rendered without $what: an empty list would allow everything', async ({ values, want }) => {
    const { code, stderr } = await render({ networkPolicy: values, systems: { lake: {} } })

    expect(code).not.toBe(0)
    expect(stderr).toContain(want)
  })
})

describe('an installation', () => {
  const registered = async (kind: string) =>
    (await plane.getJson(kind, 'lodestone')) as unknown as WebhookConfiguration | undefined
  const kinds = ['mutatingwebhookconfigurations', 'validatingwebhookconfigurations']
  const entries = () => Promise.all(kinds.map(async (kind) => (await registered(kind))?.webhooks?.length))

  // All that the API server says Lodestone may do to objects in a namespace: sorted, as `verb resource.group/name`.
  async function rightsIn(of: string): Promise<string[]> {
    const review = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: of },
    }
    const { stdout } = await plane.kubectl(['create', '--validate=false', '--output', 'json', '-f', '-'], {
      input: JSON.stringify(review),
      kubeconfig: await plane.kubeconfigFor(lodestoneUser),
    })
    const { resourceRules } = JSON.parse(stdout).status as { resourceRules: PolicyRule[] }
    const rights = resourceRules.flatMap(({ apiGroups, resources, verbs, resourceNames = [''] }) =>
      verbs.flatMap((verb) =>
        apiGroups.flatMap((group) =>
          resources.flatMap((resource) =>
            resourceNames.map((name) => `${verb} ${resource}${group && `.${group}`}${name && `/${name}`}`),
          ),
        ),
      ),
    )
    return [...new Set(rights)].sort()
  }

  afterEach(() => helm(['uninstall', 'lodestone', '--ignore-not-found']))

  test('gives the rights that Lodestone needs, keeps its registration through an upgrade, and takes it away', async () => {
    expect(await helm(['install', 'lodestone', chart])).toMatchObject({ code: 0 })
    expect(await entries()).toEqual([undefined, undefined])

    const kubeconfig = await plane.kubeconfigFor(lodestoneUser)
    const config = { dependencies: { distribution: 'none' } }
    const lodestone = await startLodestone(plane, { kubeconfig, config })
    const filled = await entries()
    expect(filled.every((count) => count !== undefined && count > 0)).toBe(true)

    const other = { config: { volumes: { enabled: true } }, replicaCount: 3 }
    expect(await helm(['upgrade', 'lodestone', chart], other)).toMatchObject({ code: 0 })
    expect(await entries()).toEqual(filled)

    await lodestone.stop()
    expect(await helm(['uninstall', 'lodestone'])).toMatchObject({ code: 0 })
    expect(await Promise.all(kinds.map(registered))).toEqual([undefined, undefined])
  })

  test('allows Pods and copies of Secrets in the namespace of movers alone', async () => {
    const movers = 'one-for-all-movers'
    await plane.apply(namespaceOf(movers))
    const config = { volumes: { enabled: true, movers: { namespace: movers } } }
    expect(await helm(['install', 'lodestone', chart], { config })).toMatchObject({ code: 0 })

    const elsewhere = await rightsIn('default')

    expect((await rightsIn(movers)).filter((right) => !elsewhere.includes(right))).toEqual([
      'bind clusterroles.rbac.authorization.k8s.io/lodestone-mover',
      'create pods',
      'create rolebindings.rbac.authorization.k8s.io',
      'create secrets',
      'create serviceaccounts',
      'get events',
      'get pods/log',
      'get rolebindings.rbac.authorization.k8s.io',
      'get serviceaccounts',
    ])
    // Pods that wait for data are released, and deleted when their claim changed. The credentials of tenants are read by name.
    expect(elsewhere.filter((right) => / (pods|secrets)/.test(right))).toEqual([
      'delete pods',
      'get pods',
      'get secrets',
      'list pods',
      'patch pods',
      'watch pods',
    ])
  })

  test('reads the ConfigMap of data systems alone, and uses its systems', async () => {
    const configMap = { namespace: 'platform', name: 'plugins' }
    const text = stringify({ system: 'lake', plugin: 'static', extra: { sources: [] } })
    await plane.apply([
      namespaceOf('platform'),
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: configMap, data: { 'lake.yaml': text } },
    ])
    const config = { systems: { configMap } }
    expect(await helm(['install', 'lodestone', chart], { config })).toMatchObject({ code: 0 })

    const configMaps = async (of: string) => (await rightsIn(of)).filter((right) => right.includes(' configmaps'))
    expect(await configMaps('platform')).toEqual(['get configmaps/plugins'])
    expect(await configMaps('default')).toEqual([])

    const lodestone = await startLodestone(plane, {
      name: 'with-config-map',
      kubeconfig: await plane.kubeconfigFor(lodestoneUser),
      config: { ...config, dependencies: { distribution: 'none' } },
    })
    onTestFinished(() => lodestone.stop())
    await plane.eventually('its system is configured', async () => {
      const log = await lodestone.readLog()
      return /data system configured/.test(log) && log.includes('ConfigMap platform/plugins/lake.yaml')
    })
  })

  test('lets Lodestone neither read Secrets nor create webhook configurations, and users work with its kinds', async () => {
    expect(await helm(['install', 'lodestone', chart], { config: { volumes: { enabled: true } } })).toMatchObject({
      code: 0,
    })
    const kubeconfig = await plane.kubeconfigFor(lodestoneUser)
    const may = async (...words: string[]) => {
      const args = ['--kubeconfig', kubeconfig, 'auth', 'can-i', ...words]
      return (await plane.kubectl(args, { allowFailure: true })).stdout.trim() === 'yes'
    }

    expect(await may('list', 'secrets', '--namespace', 'default')).toBe(false)
    for (const kind of kinds) {
      expect(await may('create', kind)).toBe(false)
      expect(await may('update', kind)).toBe(false)
      expect(await may('delete', `${kind}/lodestone`)).toBe(false)
      expect(await may('update', `${kind}/lodestone`)).toBe(true)
    }
    expect(await may('patch', 'pods', '--namespace', 'default')).toBe(true)
    const roles = await Promise.all(
      ['view', 'edit', 'admin'].map(
        async (role) => (await plane.getJson('clusterroles', `lodestone-${role}`))?.metadata,
      ),
    )
    expect(roles.map((metadata) => metadata?.['labels'])).toMatchObject(
      ['view', 'edit', 'admin'].map((role) => ({ [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true' })),
    )
  })
})
