// Each value of the chart in the objects that the real helm renders.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { K8sObject } from '../../src/api/meta.ts'
import type { PolicyRule } from '../../src/api/rbac.ts'
import { completeConfig } from '../../src/app/config/config.ts'
import { uninstallRoles } from '../../src/app/roles/uninstall-roles.ts'
import { chartValues } from '../chart-values.ts'
import { chart, type Helm, namespace, openHelm } from './chart.ts'
import { networkPolicy, peersOfSystem } from './chart-combinations.ts'

const digest = `sha256:${'0123456789abcdef'.repeat(4)}`
const placed = (name: string) => ({
  enabled: true,
  namespace: 'monitoring',
  labels: { release: name },
  annotations: { owner: name },
})
const relabeling = { action: 'labeldrop', regex: 'pod' }
const monitor = {
  interval: '15s',
  scrapeTimeout: '5s',
  honorLabels: true,
  relabelings: [relabeling],
  metricRelabelings: [relabeling],
}
const spread = { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' }
const selector = { 'app.kubernetes.io/name': 'lodestone', 'app.kubernetes.io/instance': 'lodestone' }
const toleration = { key: 'dedicated', operator: 'Exists' }
const affinity = {
  nodeAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'gpu', operator: 'DoesNotExist' }] }],
    },
  },
}
const system = { system: 'lake', plugin: 's3' }
const webProxy = { name: 'HTTPS_PROXY', value: 'http://proxy.example.org:3128' }
const volume = { name: 'client-ca', configMap: { name: 'client-ca' } }
const mount = { name: 'client-ca', mountPath: '/etc/client-ca' }
const prometheus = [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }]
const readers = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }]

/** Values of the objects of a hub. */
const objects = { mode: 'hub-objects', absence: { enabled: true } }

/** Values that go together in a member. */
const member = {
  mode: 'member',
  crds: { enabled: true, keep: true },
  commonLabels: { team: 'data' },
  commonAnnotations: { contact: 'data@example.org' },
  replicaCount: 3,
  image: { registry: 'registry.example.org:5000', repository: 'team/lodestone', digest, pullPolicy: 'Always' },
  imagePullSecrets: [{ name: 'registry' }],
  config: { log: { level: 'debug' }, server: { port: 9444 } },
  registration: { mode: 'url', url: 'https://10.0.0.7:9444' },
  systems: { lake: system },
  systemSecrets: ['lake'],
  certManager: {
    enabled: true,
    issuerRef: { name: 'corporate', kind: 'ClusterIssuer', group: 'issuers.example.org' },
    duration: '720h',
    renewBefore: '240h',
  },
  serviceAccount: { create: true, name: 'pulls', annotations: { role: 'reader' } },
  podLabels: { pool: 'system' },
  podAnnotations: { 'sidecar.istio.io/inject': 'false' },
  extraArgs: ['--log-level=info'],
  extraEnv: [webProxy],
  extraVolumes: [volume],
  extraVolumeMounts: [mount],
  resources: { requests: { cpu: 1, memory: '1Gi' }, limits: { memory: '2Gi' } },
  hostNetwork: true,
  dnsPolicy: 'None',
  dnsConfig: { nameservers: ['10.0.0.10'] },
  nodeSelector: { pool: 'system' },
  tolerations: [toleration],
  affinity,
  topologySpreadConstraints: [spread],
  priorityClassName: 'system-node-critical',
  resourceQuota: { enabled: true, pods: 7 },
  podDisruptionBudget: { enabled: true, maxUnavailable: '50%' },
  serviceMonitor: { ...placed('service'), ...monitor },
  prometheusRule: placed('rules'),
  dashboard: placed('grafana'),
  uninstallHook: { enabled: true, keepData: false, timeoutSeconds: 900 },
  page: {
    enabled: true,
    hosts: ['fleet.example.org'],
    tlsSecret: 'fleet-tls',
    resources: { requests: { cpu: '1' }, limits: { memory: '1Gi' } },
  },
  networkPolicy: {
    ...networkPolicy,
    apiServer: { ...networkPolicy.apiServer, to: [{ ipBlock: { cidr: '10.0.1.0/28' } }], ports: [6443] },
    prometheus: { from: prometheus },
    page: { from: readers },
    dns: { to: [{ ipBlock: { cidr: '10.0.0.10/32' } }], ports: [5353] },
  },
}
/** Values for a hub, and those that exclude some of a member. */
const hub = {
  mode: 'hub',
  image: { tag: '0.2.0' },
  kubeconfigSecret: { name: 'karmada', key: 'config' },
  podMonitor: { ...placed('pod'), ...monitor },
  uninstallHook: { kubeconfigSecret: { name: 'admin', key: 'config' } },
  page: { enabled: true, kubeconfigSecret: { name: 'readers', key: 'page' } },
}

/** As helm and Argo CD give them to the chart. */
const kindsOfCluster = ['--api-versions', 'batch/v1/Job']

type Owner = K8sObject & { spec?: { template?: { metadata?: { labels?: Record<string, string> } } } }
type Policy = K8sObject & { spec: { podSelector: { matchLabels: Record<string, string> }; egress: unknown[] } }

let helm: Helm
const rendered: Record<string, K8sObject[]> = {}

beforeAll(async () => {
  helm = await openHelm()
  for (const [name, values] of Object.entries({ none: {}, member, hub, objects })) {
    const words = ['template', 'lodestone', chart, '--kube-version', '1.35.0', '--include-crds', ...kindsOfCluster]
    const { code, stdout, stderr } = await helm.run(words, values)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    rendered[name] = parseAllDocuments(stdout)
      .map((document) => document.toJS())
      .filter((object) => object !== null)
  }
})
afterAll(async () => {
  await helm?.close()
})

/** Returns the field of an object at a path such as `spec.template.spec.containers.0.image`; dots in keys are written as `\.`. */
function fieldOf(values: string, object: string, path: string): unknown {
  const [kind, name] = object.split('/')
  const found = rendered[values]?.find((one) => one.kind === kind && one.metadata.name === name)
  if (found === undefined) return undefined
  return path.split(/(?<!\\)\./).reduce<unknown>((value, key) => {
    return (value as Record<string, unknown> | undefined)?.[key.replaceAll('\\', '')]
  }, found)
}

const deployment = 'Deployment/lodestone'
const pod = 'spec.template.spec'
const container = `${pod}.containers.0`
const injection = 'sidecar\\.istio\\.io/inject'
const fileOf = (values: string) => parse(String(fieldOf(values, 'ConfigMap/lodestone', 'data.config\\.yaml')))

interface Case {
  value: string
  object: string
  path: string
  want: unknown
  /** Default: those of a member. */
  values?: string
}

const placedCases = (value: string, object: string, name: string, values = 'member'): Case[] => [
  { value: `${value}.enabled`, object, path: 'metadata.name', want: object.split('/')[1], values },
  { value: `${value}.namespace`, object, path: 'metadata.namespace', want: 'monitoring', values },
  { value: `${value}.labels`, object, path: 'metadata.labels.release', want: name, values },
  { value: `${value}.annotations`, object, path: 'metadata.annotations.owner', want: name, values },
]
const monitorCases = (value: string, object: string, name: string, endpoints: string, values: string): Case[] => [
  ...placedCases(value, object, name, values),
  ...Object.entries(monitor).map(([key, want]) => ({
    value: `${value}.${key}`,
    object,
    path: `spec.${endpoints}.0.${key}`,
    want,
    values,
  })),
]

const cases: Case[] = [
  {
    value: 'mode',
    object: deployment,
    path: `${container}.args.2`,
    want: '--kubeconfig=/etc/lodestone-kubeconfig/config',
    values: 'hub',
  },
  {
    value: 'absence.enabled',
    object: 'ValidatingAdmissionPolicyBinding/lodestone-claimed-workloads',
    path: 'spec.validationActions',
    want: ['Deny'],
    values: 'objects',
  },
  {
    value: 'crds.enabled',
    object: 'CustomResourceDefinition/volumemanagers.vck.intelai.org',
    path: 'spec.names.kind',
    want: 'VolumeManager',
  },
  {
    value: 'crds.keep',
    object: 'CustomResourceDefinition/datasources.datadependency.volcano.sh',
    path: 'metadata.annotations.helm\\.sh/resource-policy',
    want: 'keep',
  },
  { value: 'commonLabels', object: 'ClusterRole/lodestone-loops', path: 'metadata.labels.team', want: 'data' },
  {
    value: 'commonAnnotations',
    object: 'Service/lodestone',
    path: 'metadata.annotations.contact',
    want: 'data@example.org',
  },
  { value: 'replicaCount', object: deployment, path: 'spec.replicas', want: 3 },
  ...['registry', 'repository', 'digest'].map((key) => ({
    value: `image.${key}`,
    object: deployment,
    path: `${container}.image`,
    want: `registry.example.org:5000/team/lodestone@${digest}`,
  })),
  { value: 'image.tag', object: deployment, path: `${container}.image`, want: 'lodestone:0.2.0', values: 'hub' },
  { value: 'image.pullPolicy', object: deployment, path: `${container}.imagePullPolicy`, want: 'Always' },
  { value: 'imagePullSecrets', object: deployment, path: `${pod}.imagePullSecrets`, want: member.imagePullSecrets },
  {
    value: 'kubeconfigSecret.name',
    object: deployment,
    path: `${pod}.volumes.1.secret.secretName`,
    want: 'karmada',
    values: 'hub',
  },
  {
    value: 'kubeconfigSecret.key',
    object: deployment,
    path: `${container}.args.2`,
    want: '--kubeconfig=/etc/lodestone-kubeconfig/config',
    values: 'hub',
  },
  { value: 'config', object: deployment, path: `${container}.ports.0.containerPort`, want: 9444 },
  {
    value: 'registration.mode',
    object: 'MutatingWebhookConfiguration/lodestone',
    path: 'kind',
    want: 'MutatingWebhookConfiguration',
  },
  { value: 'registration.url', object: 'Certificate/lodestone-tls', path: 'spec.ipAddresses', want: ['10.0.0.7'] },
  { value: 'systems', object: 'ConfigMap/lodestone-systems', path: 'data.lake', want: 'plugin: s3\nsystem: lake\n' },
  { value: 'systemSecrets', object: deployment, path: `${pod}.volumes.2.secret.secretName`, want: 'lake' },
  {
    value: 'certManager.enabled',
    object: deployment,
    path: `${pod}.volumes.3.secret.secretName`,
    want: 'lodestone-tls',
  },
  ...['name', 'kind', 'group'].map((key) => ({
    value: `certManager.issuerRef.${key}`,
    object: 'Certificate/lodestone-tls',
    path: 'spec.issuerRef',
    want: member.certManager.issuerRef,
  })),
  { value: 'certManager.duration', object: 'Certificate/lodestone-tls', path: 'spec.duration', want: '720h' },
  { value: 'certManager.renewBefore', object: 'Certificate/lodestone-tls', path: 'spec.renewBefore', want: '240h' },
  { value: 'serviceAccount.create', object: 'ServiceAccount/pulls', path: 'kind', want: 'ServiceAccount' },
  {
    value: 'serviceAccount.name',
    object: 'ClusterRoleBinding/lodestone-loops',
    path: 'subjects.0.name',
    want: 'pulls',
  },
  {
    value: 'serviceAccount.annotations',
    object: 'ServiceAccount/pulls',
    path: 'metadata.annotations.role',
    want: 'reader',
  },
  { value: 'podLabels', object: deployment, path: 'spec.template.metadata.labels.pool', want: 'system' },
  {
    value: 'podAnnotations',
    object: deployment,
    path: `spec.template.metadata.annotations.${injection}`,
    want: 'false',
  },
  {
    value: 'extraArgs',
    object: deployment,
    path: `${container}.args`,
    want: ['serve', '--config=/etc/lodestone/config.yaml', '--log-level=info'],
  },
  { value: 'extraEnv', object: deployment, path: `${container}.env`, want: [webProxy] },
  { value: 'extraVolumes', object: deployment, path: `${pod}.volumes.4`, want: volume },
  { value: 'extraVolumeMounts', object: deployment, path: `${container}.volumeMounts.4`, want: mount },
  ...['requests.cpu', 'requests.memory', 'limits.memory'].map((key) => ({
    value: `resources.${key}`,
    object: deployment,
    path: `${container}.resources`,
    want: member.resources,
  })),
  { value: 'hostNetwork', object: deployment, path: `${pod}.hostNetwork`, want: true },
  // With as many replicas as nodes, no node has free ports for one more pod.
  {
    value: 'hostNetwork',
    object: deployment,
    path: 'spec.strategy.rollingUpdate',
    want: { maxSurge: 0, maxUnavailable: 1 },
  },
  { value: 'dnsPolicy', object: deployment, path: `${pod}.dnsPolicy`, want: 'None' },
  // A pod with a sidecar of Istio never ends, and without its DNS servers it does not find a hub.
  ...['Job/lodestone-uninstall-pre-delete', 'Job/lodestone-uninstall-post-delete', 'Deployment/lodestone-page'].flatMap(
    (object) => [
      { value: 'podLabels', object, path: 'spec.template.metadata.labels.pool', want: 'system' },
      { value: 'podAnnotations', object, path: `spec.template.metadata.annotations.${injection}`, want: 'false' },
      { value: 'dnsPolicy', object, path: `${pod}.dnsPolicy`, want: 'None' },
      { value: 'dnsConfig', object, path: `${pod}.dnsConfig`, want: member.dnsConfig },
    ],
  ),
  { value: 'podAnnotations', object: 'Pod/lodestone-test', path: `metadata.annotations.${injection}`, want: 'false' },
  { value: 'dnsConfig', object: 'Pod/lodestone-test', path: 'spec.dnsConfig', want: member.dnsConfig },
  { value: 'dnsConfig', object: deployment, path: `${pod}.dnsConfig`, want: member.dnsConfig },
  { value: 'nodeSelector', object: deployment, path: `${pod}.nodeSelector`, want: member.nodeSelector },
  { value: 'tolerations', object: deployment, path: `${pod}.tolerations`, want: [toleration] },
  { value: 'affinity', object: deployment, path: `${pod}.affinity`, want: affinity },
  {
    value: 'topologySpreadConstraints',
    object: deployment,
    path: `${pod}.topologySpreadConstraints`,
    want: [{ ...spread, labelSelector: { matchLabels: selector } }],
  },
  { value: 'priorityClassName', object: deployment, path: `${pod}.priorityClassName`, want: 'system-node-critical' },
  {
    value: 'resourceQuota.enabled',
    object: 'ResourceQuota/lodestone',
    path: 'spec.scopeSelector.matchExpressions.0.values',
    want: ['system-node-critical'],
  },
  { value: 'resourceQuota.pods', object: 'ResourceQuota/lodestone', path: 'spec.hard.pods', want: '7' },
  {
    value: 'podDisruptionBudget.enabled',
    object: 'PodDisruptionBudget/lodestone',
    path: 'spec.selector.matchLabels',
    want: selector,
  },
  {
    value: 'podDisruptionBudget.maxUnavailable',
    object: 'PodDisruptionBudget/lodestone',
    path: 'spec.maxUnavailable',
    want: '50%',
  },
  {
    value: 'uninstallHook.enabled',
    object: 'Job/lodestone-uninstall-pre-delete',
    path: 'metadata.annotations.helm\\.sh/hook',
    want: 'pre-delete',
  },
  {
    value: 'uninstallHook.keepData',
    object: 'Job/lodestone-uninstall-pre-delete',
    path: `${container}.args`,
    want: ['uninstall', '--yes', '--config=/etc/lodestone/config.yaml', '--timeout=810s'],
  },
  {
    value: 'uninstallHook.timeoutSeconds',
    object: 'Job/lodestone-uninstall-post-delete',
    path: 'spec.activeDeadlineSeconds',
    want: 900,
  },
  {
    value: 'uninstallHook.kubeconfigSecret.name',
    object: 'Job/lodestone-uninstall-pre-delete',
    path: `${pod}.volumes.1.secret.secretName`,
    want: 'admin',
    values: 'hub',
  },
  {
    value: 'uninstallHook.kubeconfigSecret.key',
    object: 'Job/lodestone-uninstall-pre-delete',
    path: `${container}.args.4`,
    want: '--kubeconfig=/etc/lodestone-kubeconfig/config',
    values: 'hub',
  },
  { value: 'page.enabled', object: 'Service/lodestone-page', path: 'spec.ports.0.port', want: 443 },
  {
    value: 'page.hosts',
    object: 'Deployment/lodestone-page',
    path: `${container}.args`,
    want: [
      ...['ui', '--config=/etc/lodestone/config.yaml', '--login=token', '--address=::', '--port=8443'],
      ...['--tls=/etc/lodestone-tls', '--host=lodestone-page', '--host=lodestone-page.lodestone-system'],
      ...['--host=lodestone-page.lodestone-system.svc', '--host=fleet.example.org'],
    ],
  },
  {
    value: 'page.tlsSecret',
    object: 'Deployment/lodestone-page',
    path: `${pod}.volumes.2.secret.secretName`,
    want: 'fleet-tls',
  },
  {
    value: 'page.kubeconfigSecret.name',
    object: 'Deployment/lodestone-page',
    path: `${pod}.volumes.1.secret.secretName`,
    want: 'readers',
    values: 'hub',
  },
  {
    value: 'page.enabled',
    object: 'Role/lodestone-page',
    path: 'rules.0.resourceNames',
    want: ['lodestone'],
    values: 'hub',
  },
  {
    value: 'page.kubeconfigSecret.key',
    object: 'Deployment/lodestone-page',
    path: `${container}.args.5`,
    want: '--kubeconfig=/etc/lodestone-kubeconfig/page',
    values: 'hub',
  },
  ...['requests.cpu', 'limits.memory'].map((key) => ({
    value: `page.resources.${key}`,
    object: 'Deployment/lodestone-page',
    path: `${container}.resources.${key}`,
    want: key === 'requests.cpu' ? '1' : '1Gi',
  })),
  {
    value: 'page.resources.requests.memory',
    object: 'Deployment/lodestone-page',
    path: `${container}.resources.requests.memory`,
    want: '128Mi',
  },
  ...monitorCases('serviceMonitor', 'ServiceMonitor/lodestone', 'service', 'endpoints', 'member'),
  ...monitorCases('podMonitor', 'PodMonitor/lodestone', 'pod', 'podMetricsEndpoints', 'hub'),
  ...placedCases('prometheusRule', 'PrometheusRule/lodestone', 'rules'),
  ...placedCases('dashboard', 'ConfigMap/lodestone-dashboard', 'grafana'),
  {
    value: 'dashboard.labels.grafana_dashboard',
    object: 'ConfigMap/lodestone-dashboard',
    path: 'metadata.labels.grafana_dashboard',
    want: '1',
  },
  {
    value: 'networkPolicy.enabled',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.policyTypes',
    want: ['Ingress', 'Egress'],
  },
  {
    value: 'networkPolicy.apiServer.from',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.ingress.0',
    want: { from: networkPolicy.apiServer.from, ports: [{ protocol: 'TCP', port: 9444 }] },
  },
  ...['to', 'ports'].map((key) => ({
    value: `networkPolicy.apiServer.${key}`,
    object: 'NetworkPolicy/lodestone',
    path: 'spec.egress.0',
    want: { to: member.networkPolicy.apiServer.to, ports: [{ protocol: 'TCP', port: 6443 }] },
  })),
  {
    value: 'networkPolicy.prometheus.from',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.ingress.1.from',
    want: prometheus,
  },
  {
    value: 'networkPolicy.page.from',
    object: 'NetworkPolicy/lodestone-page',
    path: 'spec.ingress',
    want: [{ from: readers, ports: [{ protocol: 'TCP', port: 8443 }] }],
  },
  {
    value: 'networkPolicy.dns.to',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.egress.1.to',
    want: member.networkPolicy.dns.to,
  },
  {
    value: 'networkPolicy.dns.ports',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.egress.1.ports',
    want: ['UDP', 'TCP'].map((protocol) => ({ protocol, port: 5353 })),
  },
  {
    value: 'networkPolicy.systems',
    object: 'NetworkPolicy/lodestone',
    path: 'spec.egress.2.to',
    want: peersOfSystem.to,
  },
]

test.each(cases)('$value is rendered in $object', ({ object, path, want, values = 'member' }) => {
  expect(fieldOf(values, object, path)).toEqual(want)
})

test('every value has a case', () => {
  const values = chartValues().map(([value]) => value)
  const covered = new Set(cases.map(({ value }) => value))

  expect(values.filter((value) => !covered.has(value))).toEqual([])
})

describe('by default', () => {
  test('replicas are spread over nodes and zones, if possible', () => {
    const constraints = ['kubernetes.io/hostname', 'topology.kubernetes.io/zone'].map((topologyKey) => ({
      maxSkew: 1,
      topologyKey,
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: selector },
    }))
    expect(fieldOf('none', deployment, `${pod}.topologySpreadConstraints`)).toEqual(constraints)
  })

  test('workloads do not preempt Lodestone, also where critical pods need a quota', () => {
    expect(fieldOf('none', deployment, `${pod}.priorityClassName`)).toBe('system-cluster-critical')
    expect(fieldOf('none', 'ResourceQuota/lodestone', 'spec.scopeSelector.matchExpressions.0.values')).toEqual([
      'system-cluster-critical',
    ])
  })

  test('no object is of a kind that the cluster may lack', () => {
    const groups = rendered['none']?.map(({ apiVersion }) => apiVersion.split('/')[0]) ?? []
    expect(groups).not.toContain('monitoring.coreos.com')
    expect(groups).not.toContain('cert-manager.io')
  })
})

test('all objects have the common labels and annotations, and the selector has not', () => {
  const without = rendered['member']?.filter(({ metadata: { labels, annotations } }) => {
    return labels?.['team'] !== 'data' || annotations?.['contact'] !== 'data@example.org'
  })

  expect(without).toEqual([])
  expect(fieldOf('member', deployment, 'spec.template.metadata.labels.team')).toBe('data')
  expect(fieldOf('member', deployment, 'spec.selector.matchLabels')).toEqual(selector)
})

test('each pod reaches the API server and DNS where another policy denies all', () => {
  const policies = (rendered['member']?.filter(({ kind }) => kind === 'NetworkPolicy') ?? []) as Policy[]
  const [all, dns] = fieldOf('member', 'NetworkPolicy/lodestone', 'spec.egress') as unknown[]
  const labelsOfPods = ((rendered['member'] ?? []) as Owner[])
    .map(({ kind, metadata, spec }) => (kind === 'Pod' ? metadata : spec?.template?.metadata)?.labels ?? {})
    .filter((labels) => Object.keys(labels).length > 0)
  const egressOf = (labels: Record<string, string>) =>
    policies
      .filter(({ spec }) => Object.entries(spec.podSelector.matchLabels).every(([key, value]) => labels[key] === value))
      .flatMap(({ spec }) => spec.egress)

  expect(labelsOfPods.map((labels) => labels['app.kubernetes.io/name'])).toEqual(
    expect.arrayContaining(['lodestone', 'lodestone-page', 'lodestone-uninstall', 'lodestone-test']),
  )
  for (const labels of labelsOfPods) expect(egressOf(labels)).toEqual(expect.arrayContaining([all, dns]))
})

test('a hook has its NetworkPolicy when it runs, also after the release is deleted', () => {
  const hooks = 'metadata.annotations.helm\\.sh/hook'
  expect(fieldOf('member', 'NetworkPolicy/lodestone-uninstall', hooks)).toBe('pre-delete,post-delete')
  expect(fieldOf('member', 'NetworkPolicy/lodestone-test', hooks)).toBe('test')
})

test('the Service selects no Pod of a Helm hook', () => {
  const pods = Object.values(rendered)
    .flat()
    .filter(({ kind }) => kind === 'Pod' || kind === 'Job')

  expect(pods.length).toBeGreaterThan(0)
  for (const { metadata, spec } of pods as (K8sObject & { spec: { template?: K8sObject } })[]) {
    const labels = spec.template?.metadata.labels ?? metadata.labels
    expect(labels?.['app.kubernetes.io/name']).not.toBe('lodestone')
  }
})

test('both Jobs of the uninstallation end, and have what they need', () => {
  for (const event of ['pre-delete', 'post-delete']) {
    const job = `Job/lodestone-uninstall-${event}`
    expect(fieldOf('none', job, 'spec.activeDeadlineSeconds')).toBe(240)
    expect(fieldOf('none', job, `${container}.args`)).toContain('--keep-data')
    expect(fieldOf('none', job, `${pod}.volumes`)).toEqual([
      { name: 'config', configMap: { name: 'lodestone-uninstall' } },
    ])
    expect(fieldOf('none', job, `${pod}.serviceAccountName`)).toBe('lodestone-uninstall')
  }
  for (const kind of ['ServiceAccount', 'ConfigMap', 'ClusterRole', 'ClusterRoleBinding']) {
    const hook = fieldOf('none', `${kind}/lodestone-uninstall`, 'metadata.annotations.helm\\.sh/hook')
    expect(hook).toBe('pre-delete,post-delete')
  }
})

test('the uninstallation has rights for the kinds and ConfigMap of the configuration', async () => {
  const kind = (name: string, fields: object) => ({ group: 'example.com', versions: ['v1'], kind: name, ...fields })
  const config = {
    systems: { configMap: { namespace: 'platform', name: 'plugins' } },
    volumes: { enabled: true, movers: { namespace: 'movers', serviceAccountName: 'data-mover' } },
    workloadKinds: [
      kind('Gadget', { plural: 'gadgets', templates: ['spec.template'] }),
      kind('Widget', { plural: 'widgets', allPods: 'spec.pods' }),
      kind('Fleet', { plural: 'fleets', scope: 'Cluster', templates: ['spec.template'] }),
    ],
  }
  const words = ['template', 'lodestone', chart, '--kube-version', '1.35.0', ...kindsOfCluster]
  const { stdout } = await helm.run(words, { config })
  const name = 'ClusterRole/lodestone-uninstall'
  const role = parseAllDocuments(stdout)
    .map((document) => document.toJS() as (K8sObject & { rules: PolicyRule[] }) | null)
    .find((object) => object && `${object.kind}/${object.metadata.name}` === name)
  const rightsOf = (rules: PolicyRule[] = []) =>
    rules.flatMap(({ apiGroups, resources, resourceNames = [''], verbs }) =>
      apiGroups.flatMap((group) =>
        resources.flatMap((resource) =>
          resourceNames.flatMap((named) => verbs.map((verb) => [verb, group, resource, named].join(' '))),
        ),
      ),
    )

  const [wanted] = uninstallRoles(completeConfig(config, 'test')) as (K8sObject & { rules: PolicyRule[] })[]

  expect([...new Set(rightsOf(role?.rules))].sort()).toEqual([...new Set(rightsOf(wanted?.rules))].sort())
})

test.each([
  { name: 'member', values: {} },
  { name: 'hub', values: hub },
])('the output of helm template uninstalls nothing when it is applied: $name', async ({ values }) => {
  const { code, stdout } = await helm.run(['template', 'lodestone', chart, '--kube-version', '1.35.0'], values)

  expect(code).toBe(0)
  expect(stdout).toContain('kind: Deployment')
  expect(stdout).not.toContain('lodestone-uninstall')
})

/** Values whose texts are all the same name, as far as the chart allows. */
const named = (mode: string, name: string) => ({
  mode,
  image: { registry: name, repository: name },
  imagePullSecrets: [{ name }],
  config: { volumes: { enabled: mode === 'member', movers: { namespace: name, serviceAccountName: name } } },
  systems: { [name]: { system: name, plugin: 's3' } },
  systemSecrets: [name],
  certManager: { enabled: true, issuerRef: { name, group: name } },
  serviceAccount: { name },
  priorityClassName: name,
  serviceMonitor: { enabled: true, namespace: name },
  prometheusRule: { enabled: true, namespace: name },
  dashboard: { enabled: true, namespace: name },
  page: {
    enabled: true,
    hosts: [name],
    tlsSecret: name,
    kubeconfigSecret: { name: mode === 'hub' ? name : '', key: name },
  },
  kubeconfigSecret: { name: mode === 'hub' ? name : '', key: name },
  uninstallHook: { kubeconfigSecret: { name, key: name } },
})

describe.each(['1e3', '007', 'on', 'null'])('the name %s is a text in every object', (name) => {
  test.each(['member', 'hub', 'hub-objects'])('%s', async (mode) => {
    const render = async (release: string) => {
      const words = ['template', release, chart, '--kube-version', '1.35.0', ...kindsOfCluster, '--namespace', release]
      const { code, stdout, stderr } = await helm.run(words, named(mode, release))
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      // As kubectl and helm read it, with the files of ConfigMaps.
      const objects = parseAllDocuments(stdout, { version: '1.1' }).map((document) => document.toJS())
      const ignored = ['checksum/config', 'lodestone.json']
      return JSON.stringify(objects, (key, value) => {
        if (ignored.includes(key)) return ''
        return typeof value === 'string' && value.endsWith('\n') ? parse(value) : value
      })
    }

    expect(JSON.parse(await render(name))).toEqual(JSON.parse((await render('x-name')).replaceAll('x-name', name)))
  })
})

test('on a hub, the host cluster gets no CRDs, cluster-wide rights or webhooks', () => {
  const own = rendered['hub']?.filter(({ metadata }) => metadata.annotations?.['helm.sh/hook'] === undefined)
  const kinds = new Set(own?.map(({ kind }) => kind))

  expect([...kinds].filter((kind) => /^Custom|^Cluster|Webhook/.test(kind))).toEqual([])
  expect(fileOf('hub').registration).toMatchObject({ mode: 'url', url: 'https://lodestone.lodestone-system.svc:443' })
})

test('with cert-manager, Lodestone serves its certificate without a right to Secrets', () => {
  expect(fileOf('member').certificates).toEqual({ source: 'files', directory: '/etc/lodestone-certificates' })
  const rules = fieldOf('member', 'Role/lodestone', 'rules') as { resources: string[] }[]
  expect(rules.flatMap(({ resources }) => resources)).not.toContain('secrets')
  expect(fieldOf('member', 'Certificate/lodestone-tls', 'spec.dnsNames')).toContain(`lodestone.${namespace}.svc`)
})

test.each([
  { url: 'https://admission.example.org.', hosts: undefined, names: ['admission.example.org'], addresses: [] },
  {
    url: 'https://10.0.0.7:9443',
    hosts: ['balancer.example.org.', '*.example.net', 'fd00::7', '10.0.0.7'],
    names: ['balancer.example.org', '*.example.net'],
    addresses: ['10.0.0.7', 'fd00::7'],
  },
])('the certificate of cert-manager names the host of $url, and those of `hosts`', async (given) => {
  const { url, hosts, names, addresses } = given
  const values = {
    certManager: { enabled: true },
    registration: { mode: 'url', url },
    ...(hosts && { config: { certificates: { hosts } } }),
  }
  const { stdout } = await helm.run(['template', 'lodestone', chart, '--kube-version', '1.35.0'], values)
  const certificates = parseAllDocuments(stdout).map(
    (document) => document.toJS() as { spec?: { dnsNames?: string[]; ipAddresses?: string[] } },
  )
  const service = `lodestone.${namespace}.svc`

  expect(certificates.flatMap((object) => object?.spec?.dnsNames ?? [])).toEqual([
    service,
    `${service}.cluster.local`,
    ...names,
  ])
  expect(certificates.flatMap((object) => object?.spec?.ipAddresses ?? [])).toEqual(addresses)
})

// A certificate keeps the CA that signed it. API servers reject it when that CA has ended.
test.each([
  { duration: '1h', ca: { duration: '8760h', renewBefore: '2920h' } },
  { duration: '2160h', ca: { duration: '8760h', renewBefore: '2920h' } },
  { duration: '2920h1m', ca: { duration: '8763h', renewBefore: '2921h' } },
  { duration: '8760h', ca: { duration: '26280h', renewBefore: '8760h' } },
])('the CA of a certificate for $duration outlives it', async ({ duration, ca }) => {
  const values = { certManager: { enabled: true, duration, renewBefore: '10m' } }
  const { stdout } = await helm.run(['template', 'lodestone', chart, '--kube-version', '1.35.0'], values)
  const found = parseAllDocuments(stdout)
    .map((document) => document.toJS() as (K8sObject & { spec?: object }) | null)
    .find((object) => object?.kind === 'Certificate' && object.metadata.name === 'lodestone-ca')
  expect(found?.spec).toMatchObject(ca)
})

test('the page may also read the kinds and the ConfigMap of the configuration', async () => {
  const config = {
    systems: { configMap: { namespace: 'platform', name: 'plugins' } },
    workloadKinds: [{ group: 'example.com', versions: ['v1'], kind: 'Gadget', plural: 'gadgets' }],
  }
  const words = ['template', 'lodestone', chart, '--kube-version', '1.35.0']
  const { stdout } = await helm.run(words, { page: { enabled: true }, config })
  const bound = parseAllDocuments(stdout)
    .map((document) => document.toJS() as (K8sObject & { subjects?: { name: string }[] }) | null)
    .filter((object) => object?.subjects?.some(({ name }) => name === 'lodestone-page'))
  expect(bound.map((object) => object?.metadata.name).sort()).toEqual([
    'lodestone-page',
    'lodestone-systems',
    'lodestone-workload-kinds',
  ])
})
