// The chart with the real helm against a real API server: its rights are exactly enough, and a NetworkPolicy is complete.
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { parseAllDocuments, stringify } from 'yaml'
import type { PolicyRule } from '../../src/api/rbac.ts'
import type { WebhookConfiguration } from '../../src/api/registration.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { networkPolicy, peersOfSystem } from './chart-combinations.ts'
import { lodestoneOutput, runLodestone } from './command.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { lodestoneUser, startLodestone } from './lodestone.ts'

let plane: ControlPlane
let helm: Helm

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  helm = await helmOn(plane)
  await plane.apply(namespaceOf(namespace))
})
afterAll(async () => {
  await plane?.stopAll()
  await helm?.close()
})

const systems = { lake: { system: 'lake', plugin: 's3' } }

describe('a ConfigMap for data systems', () => {
  const configMap = { namespace, name: 'plugins' }
  const noPeers = {
    config: { systems: { configMap } },
    networkPolicy: { ...networkPolicy, systems: [] },
  }

  test.each([
    { what: 'without a name: its Role would allow all', values: { config: { systems: { configMap: { namespace } } } } },
    { what: 'without a namespace', values: { config: { systems: { configMap: { name: 'plugins' } } } } },
    { what: 'beside data systems in values', values: { systems, config: { systems: { configMap } } } },
    { what: 'whose peers a NetworkPolicy does not name', values: noPeers },
  ])('is not rendered $what', async ({ values }) => {
    const { code, stderr } = await helm.render(values)

    expect(code).not.toBe(0)
    expect(stderr).toMatch(/config[./]systems[./]configMap|networkPolicy\.systems/)
  })

  test('is for the administrator of a hub to allow there', async () => {
    const hub = { mode: 'hub' }
    const { stdout } = await helm.render({ ...hub, config: { systems: { configMap } } })

    expect(stdout).toContain('name: plugins')
    expect(stdout).not.toContain('name: lodestone-systems')
  })
})

describe('the NetworkPolicy', () => {
  test('is not there unless it is asked for', async () => {
    expect((await helm.render({})).stdout).not.toContain('NetworkPolicy')
  })

  test('lets in the API server and Prometheus, and out what Lodestone needs', async () => {
    const prometheus = { from: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }] }
    const { stdout } = await helm.render({ networkPolicy: { ...networkPolicy, prometheus } })
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
        { to: peersOfSystem.to, ports: tcp(443) },
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
      values: { ...networkPolicy, systems: [{ to: peersOfSystem.to }] },
      want: 'and its ports',
    },
    { what: 'DNS', values: { ...networkPolicy, dns: { to: [] } }, want: 'networkPolicy.dns.to' },
  ])('is not rendered without $what: an empty list would allow everything', async ({ values, want }) => {
    const { code, stderr } = await helm.render({ networkPolicy: values, systems })

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

  // What `lodestone check-install` finds out about the ServiceAccount.
  async function accountFinding(config: object): Promise<{ result: string; message: string } | undefined> {
    const file = join(plane.dir, 'check-install.yaml')
    await writeFile(file, stringify(config))
    const words = ['check-install', '--kubeconfig', plane.kubeconfig, '--config', file, '-o', 'json']
    const { stdout } = await runLodestone(words)
    return JSON.parse(stdout).checks.find(({ name }: { name: string }) => name === 'account')
  }

  afterEach(() => helm.run(['uninstall', 'lodestone', '--ignore-not-found', '--no-hooks']))

  test('grants its rights, and keeps its registration until Lodestone is uninstalled', async () => {
    expect(await helm.run(['install', 'lodestone', chart])).toMatchObject({ code: 0 })
    expect(await entries()).toEqual([undefined, undefined])

    const kubeconfig = await plane.kubeconfigFor(lodestoneUser)
    const config = { dependencies: { distribution: 'none' } }
    const lodestone = await startLodestone(plane, { kubeconfig, config })
    const filled = await entries()
    expect(filled.every((count) => count !== undefined && count > 0)).toBe(true)

    const other = { config: { volumes: { enabled: true } }, replicaCount: 3 }
    expect(await helm.run(['upgrade', 'lodestone', chart], other)).toMatchObject({ code: 0 })
    expect(await entries()).toEqual(filled)
    // As docs/guides/upgrade.md has it.
    const newer = ['upgrade', 'lodestone', chart, '--reset-then-reuse-values', '--set', 'image.tag=0.2.0']
    expect(await helm.run(newer)).toMatchObject({ code: 0 })
    const { stdout } = await helm.run(['get', 'values', 'lodestone', '-o', 'json'])
    expect(JSON.parse(stdout)).toEqual({ ...other, image: { tag: '0.2.0' } })
    expect(await helm.run(['rollback', 'lodestone', '1'])).toMatchObject({ code: 0 })
    expect(await entries()).toEqual(filled)

    await lodestone.stop()
    expect(await helm.run(['uninstall', 'lodestone', '--no-hooks'])).toMatchObject({ code: 0 })
    expect(await Promise.all(kinds.map(registered))).toEqual([undefined, undefined])
  })

  test('is the only one of its cluster', async () => {
    const install = (release: string) => helm.run(['install', release, chart])
    expect(await install('lodestone')).toMatchObject({ code: 0 })

    const second = await install('second')
    await helm.run(['uninstall', 'lodestone', '--no-hooks'])
    const roles = await lodestoneOutput(['manifests', 'rbac'])
    await plane.kubectl(['apply', '-f', '-'], { input: roles })
    const withoutHelm = await install('lodestone')
    await plane.kubectl(['delete', '-f', '-'], { input: roles })

    expect(second.stderr).toContain(
      'installed in this cluster already, as the release lodestone in the namespace lodestone-system; upgrade that release',
    )
    expect(withoutHelm.stderr).toContain('installed in this cluster without helm; uninstall it first')
  })

  test('allows Pods and copies of Secrets in the namespace of movers alone', async () => {
    const movers = 'one-for-all-movers'
    await plane.apply(namespaceOf(movers))
    const config = { volumes: { enabled: true, movers: { namespace: movers } } }
    expect(await helm.run(['install', 'lodestone', chart], { config })).toMatchObject({ code: 0 })

    expect(await accountFinding(config)).toMatchObject({ result: 'passed' })
    const elsewhere = await rightsIn('default')

    expect((await rightsIn(movers)).filter((right) => !elsewhere.includes(right))).toEqual([
      'create pods',
      'create secrets',
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
    expect(await helm.run(['install', 'lodestone', chart], { config })).toMatchObject({ code: 0 })

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

  test('lets Lodestone read no Secrets and create no webhook configurations', async () => {
    expect(await helm.run(['install', 'lodestone', chart], { config: { volumes: { enabled: true } } })).toMatchObject({
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
