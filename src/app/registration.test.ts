import { describe, expect, test } from 'vitest'
import type { ResourceType } from '../api/meta.ts'
import type { WebhookConfiguration, WebhookEntry } from '../api/registration.ts'
import { SHIPPED_KINDS } from '../core/workload-kinds/kinds.ts'
import { webhookPath } from '../webhooks/define.ts'
import { allWebhooks } from '../webhooks/index.ts'
import { interpreterTypes } from '../webhooks/interpreter.ts'
import { servingHosts } from './certificates.ts'
import { type Config, DEFAULT_CONFIG } from './config/config.ts'
import { VERSION, wantedInterpreterRegistration, wantedRegistration } from './registration.ts'

const webhooks = allWebhooks(SHIPPED_KINDS)

const CA = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n'

function configured(registration: Partial<Config['registration']> = {}, hosts: string[] = []): Config {
  return {
    ...DEFAULT_CONFIG,
    registration: { ...DEFAULT_CONFIG.registration, ...registration },
    certificates: { ...DEFAULT_CONFIG.certificates, hosts },
  }
}

function entriesOf(configurations: WebhookConfiguration[]): WebhookEntry[] {
  return configurations.flatMap((configuration) => configuration.webhooks ?? [])
}

function entry(name: string, config = configured()): WebhookEntry {
  const found = entriesOf(wantedRegistration(config)).find((candidate) => candidate.name === name)
  if (!found) throw new Error(`there is no entry ${name}`)
  return found
}

describe('the registration with the API server', () => {
  test('has one configuration per type, both with the name lodestone', () => {
    const wanted = wantedRegistration(configured())

    expect(wanted.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
      'MutatingWebhookConfiguration lodestone',
      'ValidatingWebhookConfiguration lodestone',
    ])
  })

  test('has each webhook of the table, with its own name', () => {
    const names = entriesOf(wantedRegistration(configured())).map(({ name }) => name)

    expect(names).toEqual(expect.arrayContaining(webhooks.map(({ name }) => `${name}.lodestone.dev`)))
    expect(new Set(names).size).toBe(names.length)
  })

  test('has no side effects, a short timeout, and version v1', () => {
    for (const one of entriesOf(wantedRegistration(configured({ timeoutSeconds: 5 })))) {
      expect(one).toMatchObject({ sideEffects: 'None', timeoutSeconds: 5, admissionReviewVersions: ['v1'] })
    }
  })

  test('selects all pods that request volumes, and no others', () => {
    expect(entry('pod.lodestone.dev')).toMatchObject({
      objectSelector: { matchLabels: { 'lodestone.dev/inject': 'true' } },
      rules: [{ apiGroups: [''], resources: ['pods'], operations: ['CREATE'], scope: 'Namespaced' }],
      failurePolicy: 'Fail',
    })
    expect(entry('resource-binding.lodestone.dev')).not.toHaveProperty('objectSelector')
  })

  test('has one entry for every kind of workload, with a rule per API version', () => {
    const { rules, matchConditions } = entry('workload.lodestone.dev')
    expect(rules).toContainEqual({
      apiGroups: ['apps'],
      apiVersions: ['v1'],
      resources: ['deployments', 'replicasets', 'daemonsets', 'statefulsets'],
      operations: ['CREATE', 'UPDATE'],
      scope: 'Namespaced',
    })
    const versions = rules.map(({ apiGroups, apiVersions }) => `${apiGroups}/${apiVersions}`)
    expect(new Set(versions).size).toBe(versions.length)
    expect(versions).toContain('batch.volcano.sh/v1alpha1')
    expect(matchConditions?.map(({ name }) => name)).toEqual(['not-a-system-namespace', 'asks-for-volumes'])
  })
})

describe('the address of Lodestone', () => {
  test('is a URL on a hub, with the path of each webhook', () => {
    const wanted = wantedRegistration(configured({ mode: 'url', url: 'https://10.0.0.7:9443/hub/' }))

    const urls = new Set(entriesOf(wanted).map(({ clientConfig }) => clientConfig.url))
    const byType = ['mutating', 'validating'].flatMap((type) => webhooks.filter((webhook) => webhook.type === type))
    expect([...urls]).toEqual(byType.map((webhook) => `https://10.0.0.7:9443/hub${webhookPath(webhook)}`))
    for (const { clientConfig } of entriesOf(wanted)) expect(clientConfig.service).toBeUndefined()
  })

  test('is a Service in a plain cluster, even if a URL is configured', () => {
    const service = { namespace: 'here', name: 'me', port: 8443 }

    const wanted = wantedRegistration(configured({ mode: 'service', url: 'https://10.0.0.7', service }))

    for (const { clientConfig } of entriesOf(wanted)) {
      expect(clientConfig).toEqual({ service: { ...service, path: expect.stringMatching(/^\/(mutate|validate)\//) } })
    }
  })

  test('has the present CA in base64', () => {
    for (const { clientConfig } of entriesOf(wantedRegistration(configured(), { caBundlePem: CA }))) {
      expect(Buffer.from(clientConfig.caBundle ?? '', 'base64').toString()).toBe(CA)
    }
  })

  test.each([{ certificates: undefined }, { certificates: { caBundlePem: undefined } }])(
    'has no CA if another tool sets it: $certificates',
    ({ certificates }) => {
      for (const { clientConfig } of entriesOf(wantedRegistration(configured(), certificates))) {
        expect(clientConfig).not.toHaveProperty('caBundle')
      }
    },
  )
})

describe('the registration with the resource interpreter', () => {
  const type = (apiVersion: string, kind: string): ResourceType => {
    const [version = '', group = ''] = apiVersion.split('/').reverse()
    return { group, version, kind, plural: `${kind.toLowerCase()}s`, namespaced: true }
  }
  const types = [
    type('apps/v1', 'StatefulSet'),
    type('apps/v1', 'Deployment'),
    type('v1', 'Pod'),
    type('kubeflow.org/v1', 'TFJob'),
    type('kubeflow.org/v2beta1', 'MPIJob'),
  ]
  const wanted = (config: Config, ca?: string) => wantedInterpreterRegistration(config, types, { caBundlePem: ca })
  const entriesFor = (config: Config, ca?: string) => wanted(config, ca)?.webhooks ?? []

  test('is one webhook in a configuration with our labels', () => {
    expect(wanted(configured())).toMatchObject({
      apiVersion: 'config.karmada.io/v1alpha1',
      kind: 'ResourceInterpreterWebhookConfiguration',
      metadata: { name: 'lodestone', labels: { 'app.kubernetes.io/name': 'lodestone' } },
      webhooks: [{ name: 'dependencies.lodestone.dev', timeoutSeconds: 3, interpreterContextVersions: ['v1alpha1'] }],
    })
  })

  test('has one rule per group with only the wanted kinds, in a stable order', () => {
    const rule = (group: string, kinds: string[]) => ({
      operations: ['InterpretDependency'],
      apiGroups: [group],
      apiVersions: ['*'],
      kinds,
    })

    expect(entriesFor(configured())[0]?.rules).toEqual([
      rule('', ['Pod']),
      rule('apps', ['Deployment', 'StatefulSet']),
      rule('kubeflow.org', ['MPIJob', 'TFJob']),
    ])
    expect(wantedInterpreterRegistration(configured(), [...types].reverse())).toEqual(wanted(configured()))
  })

  test('has an address as the webhooks: a URL or a Service, with the present CA', () => {
    const hub = entriesFor(configured({ mode: 'url', url: 'https://10.0.0.7:9443/hub/' }), CA)
    const plain = entriesFor(configured({ mode: 'service', url: 'https://10.0.0.7' }))

    expect(hub.map(({ clientConfig }) => clientConfig)).toEqual([
      { url: 'https://10.0.0.7:9443/hub/interpret/dependencies', caBundle: Buffer.from(CA).toString('base64') },
    ])
    expect(plain.map(({ clientConfig }) => clientConfig)).toEqual([
      { service: { namespace: 'lodestone-system', name: 'lodestone', port: 443, path: '/interpret/dependencies' } },
    ])
  })

  test.each([{ distribution: 'builtin' as const }, { distribution: 'none' as const }])(
    'is absent if Karmada does not distribute dependencies: $distribution',
    ({ distribution }) => {
      const config = { ...configured(), dependencies: { ...DEFAULT_CONFIG.dependencies, distribution } }

      expect(wanted(config)).toBeUndefined()
    },
  )

  test('has namespaced kinds with pods only: Karmada finds dependencies of other kinds', () => {
    const kinds = interpreterTypes(SHIPPED_KINDS).map(({ kind }) => kind)

    expect(kinds).toEqual(expect.arrayContaining(['Deployment', 'CronJob', 'Pod', 'RayCluster', 'Workflow']))
    for (const kind of ['Ingress', 'ServiceImport', 'PersistentVolume', 'SidecarSet']) expect(kinds).not.toContain(kind)
  })
})

describe('the names of a registration', () => {
  const digests = (config: Config, ca?: string) =>
    wantedRegistration(config, { caBundlePem: ca }).map(
      ({ metadata }) => metadata.annotations?.['lodestone.dev/digest'],
    )

  test('are the version of the build and a digest of its webhooks', () => {
    for (const { metadata } of wantedRegistration(configured())) {
      expect(metadata.annotations).toEqual({
        'lodestone.dev/version': VERSION,
        'lodestone.dev/digest': expect.stringMatching(/^[0-9a-f]{16}$/),
      })
    }
  })

  test('depend on the configuration, and not on the CA', () => {
    const plain = digests(configured())
    expect(digests(configured(), CA)).toEqual(plain)
    expect(digests(configured({ timeoutSeconds: 9 }))).not.toEqual(plain)
    expect(digests(configured({ mode: 'url', url: 'https://10.0.0.7:9443' }))).not.toEqual(plain)
  })
})

describe('a namespace decides whether requests are rejected while Lodestone is unavailable', () => {
  test.each([{ webhook: 'resource-binding' }, { webhook: 'data-source-claim' }])(
    '$webhook is registered twice: for namespaces with the label, and for all others',
    ({ webhook }) => {
      const open = entry(`${webhook}.lodestone.dev`)
      const enforced = entry(`${webhook}.enforced.lodestone.dev`)
      const label = { key: 'lodestone.dev/enforce', values: ['true'] }

      expect(open.failurePolicy).toBe('Ignore')
      expect(open.namespaceSelector?.matchExpressions).toContainEqual({ ...label, operator: 'NotIn' })
      expect(enforced.failurePolicy).toBe('Fail')
      expect(enforced.namespaceSelector?.matchExpressions).toContainEqual({ ...label, operator: 'In' })
      expect({ ...enforced, name: open.name, failurePolicy: 'Ignore', namespaceSelector: {} }).toEqual({
        ...open,
        namespaceSelector: {},
      })
    },
  )

  test.each([{ webhook: 'cluster-resource-binding' }, { webhook: 'data-source' }])(
    '$webhook is cluster-scoped, and has one entry without a selector',
    ({ webhook }) => {
      const names = entriesOf(wantedRegistration(configured())).map(({ name }) => name)

      expect(names.filter((name) => name.startsWith(`${webhook}.`))).toEqual([`${webhook}.lodestone.dev`])
      expect(entry(`${webhook}.lodestone.dev`)).toMatchObject({
        failurePolicy: 'Ignore',
        rules: [{ scope: 'Cluster' }],
      })
      expect(entry(`${webhook}.lodestone.dev`)).not.toHaveProperty('namespaceSelector')
    },
  )
})

describe('requests that are never sent to Lodestone', () => {
  test('of the configured namespaces and our own, sorted for a stable order', () => {
    const service = { namespace: 'ours', name: 'me', port: 443 }
    const config = configured({ excludedNamespaces: ['z', 'ours', 'a'], service })

    const { namespaceSelector } = entry('resource-binding.lodestone.dev', config)

    expect(namespaceSelector?.matchExpressions?.[0]).toEqual({
      key: 'kubernetes.io/metadata.name',
      operator: 'NotIn',
      values: ['a', 'ours', 'z'],
    })
  })

  test('of system namespaces, by prefix, and of most bindings without a placement', () => {
    expect(entry('resource-binding.lodestone.dev').matchConditions).toEqual([
      {
        name: 'not-a-system-namespace',
        expression: "!request.namespace.startsWith('kube-') && !request.namespace.startsWith('karmada-')",
      },
      {
        name: 'has-a-placement-or-is-of-a-volume-claim',
        expression: "has(object.spec.placement) || object.spec.resource.kind == 'PersistentVolumeClaim'",
      },
    ])
    expect(entry('cluster-resource-binding.lodestone.dev').matchConditions?.map(({ name }) => name)).toEqual([
      'has-a-placement-or-is-of-a-volume-claim',
    ])
    expect(entry('data-source.lodestone.dev')).not.toHaveProperty('matchConditions')
  })
})

describe('the host names of the server, for its certificate', () => {
  const always = ['lodestone.lodestone-system.svc', 'localhost', '127.0.0.1', '::1']

  test('include its Service and this machine', () => {
    expect(servingHosts(configured())).toEqual(always)
  })

  test.each([
    { url: 'https://hub.example.org:9443/path', want: 'hub.example.org' },
    { url: 'https://10.0.0.7', want: '10.0.0.7' },
    { url: 'https://[2001:db8::1]:9443', want: '2001:db8::1' },
  ])('include the one in the URL $url', ({ url, want }) => {
    expect(servingHosts(configured({ mode: 'url', url }))).toEqual([want, ...always])
  })

  test('include the configured ones, without duplicates', () => {
    expect(servingHosts(configured({ mode: 'url', url: 'https://localhost:9443' }, ['10.0.0.7', '::1']))).toEqual([
      'localhost',
      'lodestone.lodestone-system.svc',
      '127.0.0.1',
      '::1',
      '10.0.0.7',
    ])
  })
})
