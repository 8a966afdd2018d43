// The values of the chart with the real helm: valid ones render what the API server and Lodestone accept, others name the allowed ones.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import type { K8sObject } from '../../src/api/meta.ts'
import { completeConfig } from '../../src/app/config/config.ts'
import { grantedAccesses, podRolesFor, rolesFor } from '../../src/app/roles/granted.ts'
import { inspectSystems } from '../../src/locality/config/inspect.ts'
import { configMapSource } from '../../src/locality/config/source.ts'
import { ensureDefinitions } from './binaries.ts'
import { chart, type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { combinations, networkPolicy } from './chart-combinations.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'

interface Rendered extends K8sObject {
  data?: Record<string, string>
}

let plane: ControlPlane
let helm: Helm

beforeAll(async () => {
  plane = await startControlPlane({ karmada: false })
  helm = await helmOn(plane)
  // The API server warns of Pods that do not fulfill its strictest Pod Security Standard.
  await plane.apply(namespaceOf(namespace, { 'pod-security.kubernetes.io/warn': 'restricted' }))
})
afterAll(async () => {
  await plane?.stopAll()
  await helm?.close()
})

const objectsOf = (text: string) =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null)

/** Without the Role for its own Secret and Lease, which only the chart has. */
const rightsOf = (objects: K8sObject[]) => {
  const roles = objects.filter(({ kind, metadata }) => kind !== 'Role' || metadata.name !== 'lodestone')
  return [...new Set(grantedAccesses(roles).map((access) => JSON.stringify(access)))].sort()
}

const sourceOf = (data: Record<string, string>) => {
  const metadata = { namespace, name: 'lodestone-systems' }
  return configMapSource(metadata, async () => ({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data }))
}

describe('helm, the API server and Lodestone accept the chart', () => {
  test.each(combinations)('$what', async ({ values }) => {
    expect(await helm.run(['lint', chart, '--strict'], values)).toMatchObject({ code: 0 })
    const { stdout, stderr, code } = await helm.render(values)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })

    const words = ['apply', '--dry-run=server', '--namespace', namespace, '-f', '-']
    const applied = await plane.kubectl(words, { input: stdout })

    const objects = objectsOf(stdout)
    expect(applied.stdout.trim().split('\n')).toHaveLength(objects.length)
    expect(applied.stderr).toBe('')
    const dataOf = (name: string) =>
      objects.find((object) => object.kind === 'ConfigMap' && object.metadata.name === name)?.data ?? {}
    const config = completeConfig(parse(dataOf('lodestone')['config.yaml'] ?? ''), 'config.yaml')
    expect(rightsOf(objects), 'the rights are those of `lodestone manifests`').toEqual(
      'mode' in values ? [] : rightsOf([...rolesFor(config), ...podRolesFor(config)]),
    )
    const systems = await inspectSystems(sourceOf(dataOf('lodestone-systems')))
    expect(systems.filter(({ problem }) => problem)).toEqual([])
  })
})

describe('Prometheus Operator and cert-manager know every field that the chart writes', () => {
  const monitored = { labels: { release: 'prometheus' }, annotations: { owner: 'data' } }
  const relabeling = {
    sourceLabels: ['pod', 'node'],
    separator: ';',
    targetLabel: 'place',
    regex: '(.*)',
    action: 'replace',
    modulus: 1,
    replacement: '$1',
  }
  const monitor = {
    ...monitored,
    enabled: true,
    interval: '15s',
    scrapeTimeout: '15s',
    honorLabels: true,
    relabelings: [relabeling],
    metricRelabelings: [{ action: 'LabelDrop', regex: 'pod' }],
  }
  const issuerRef = { name: 'corporate', kind: 'ClusterIssuer', group: 'issuers.example.org' }
  const address = { mode: 'url', url: 'https://10.0.0.7:9443' }

  beforeAll(async () => {
    const folder = await ensureDefinitions()
    const files = [
      ...['servicemonitors', 'podmonitors', 'prometheusrules'].map(
        (plural) => `prometheus-operator/monitoring.coreos.com_${plural}.yaml`,
      ),
      ...['certificates', 'issuers'].map((plural) => `cert-manager/cert-manager.io_${plural}.yaml`),
    ]
    const paths = files.flatMap((file) => ['-f', join(folder, file)])
    await plane.kubectl(['apply', '--server-side', ...paths])
    await plane.crdsEstablished()
  })

  test.each([
    {
      what: 'a ServiceMonitor, a PrometheusRule and a CA of the release',
      values: {
        serviceMonitor: monitor,
        prometheusRule: { enabled: true, ...monitored },
        certManager: { enabled: true },
      },
      kinds: ['Certificate', 'Certificate', 'Issuer', 'Issuer', 'PrometheusRule', 'ServiceMonitor'],
    },
    {
      what: 'a PodMonitor and a Certificate of another issuer for an address',
      values: { podMonitor: monitor, certManager: { enabled: true, issuerRef }, registration: address },
      kinds: ['Certificate', 'PodMonitor'],
    },
  ])('$what', async ({ values, kinds }) => {
    const { stdout, stderr, code } = await helm.render(values)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const objects = objectsOf(stdout).filter(({ apiVersion }) => /cert-manager|coreos/.test(apiVersion))
    expect(objects.map(({ kind }) => kind).sort()).toEqual(kinds)

    const words = ['apply', '--dry-run=server', '--validate=strict', '--namespace', namespace, '-f', '-']
    const applied = await plane.kubectl(words, { input: stdout })

    expect(applied.stderr).toBe('')
  })
})

describe('an invalid value fails before anything is rendered, with the allowed ones', () => {
  const keys =
    'absence, affinity, certManager, commonAnnotations, commonLabels, config, crds, dashboard, dnsConfig, dnsPolicy, enabled, extraArgs, ' +
    'extraEnv, ' +
    'extraVolumeMounts, extraVolumes, global, hostNetwork, image, imagePullSecrets, kubeconfigSecret, mode, networkPolicy, nodeSelector, page, ' +
    'podAnnotations, podDisruptionBudget, podLabels, podMonitor, priorityClassName, prometheusRule, registration, replicaCount, ' +
    'resourceQuota, resources, serviceAccount, serviceMonitor, systemSecrets, systems, tolerations, topologySpreadConstraints, uninstallHook'

  test.each([
    {
      set: 'replicas=3',
      want: `- at '': additional properties 'replicas' not allowed\n- at '': value must be 'an object with only these keys: ${keys}'`,
    },
    {
      set: 'registration.mod=url',
      want: "- at '/registration': additional properties 'mod' not allowed\n- at '/registration': value must be 'an object with only these keys: mode, url'",
    },
    {
      set: 'registration.mode=bogus',
      want: "- at '/registration/mode': value must be one of '', 'url', 'service', 'none'",
    },
    {
      set: 'registration.url=10.0.0.7:9443',
      want: "- at '/registration/url': value must be 'an https URL without user, query and fragment",
    },
    { set: 'replicaCount=abc', want: "- at '/replicaCount': got string, want integer" },
    {
      set: 'systemSecrets={evil/../../x}',
      want: "- at '/systemSecrets/0': value must be 'a name of lowercase letters",
    },
    { set: 'systemSecrets=lake', want: "- at '/systemSecrets': got string, want array" },
    { set: 'image.tag=20261123', want: "- at '/image/tag': got number, want string" },
    { set: 'image.repository=lodestone:0.1.0', want: "- at '/image/repository': value must be 'an image without tag" },
    { set: 'image=lodestone', want: "- at '/image': got string, want object" },
    { set: 'image=null', want: "- at '': missing property 'image'" },
    {
      set: 'image.pullPolicy=Allways',
      want: "- at '/image/pullPolicy': value must be one of 'Always', 'IfNotPresent', 'Never'",
    },
    { set: 'imagePullSecrets={registry}', want: "- at '/imagePullSecrets/0': got string, want object" },
    {
      set: 'podDisruptionBudget.maxUnavailable=all',
      want: "value must be 'a number of pods, or a percentage such as 50%; 0",
    },
    { set: 'podDisruptionBudget.maxUnavailable=null', want: "- at '/podDisruptionBudget': missing property" },
    { set: 'imagePullSecrets[0].nam=registry', want: "value must be 'an object with only these keys: name'" },
    {
      set: 'extraEnv[0].name=PORT,extraEnv[0].value=80',
      want: "- at '/extraEnv/0/value': got number, want null or string",
    },
    {
      set: 'resources.limit.memory=1Gi',
      want: "value must be 'an object with only these keys: claims, limits, requests'",
    },
    { set: 'resources.limits.memory=1GB', want: "value must be 'a quantity such as 500m or 1Gi'" },
    {
      set: 'config.dependencies.related={Hpa}',
      want: "value must be one of 'HorizontalPodAutoscaler', 'PodDisruptionBudget'",
    },
    { set: 'config.volumes.movers.keepFree=1GB', want: "value must be 'an amount of bytes such as 1Gi'" },
    { set: 'config.volumes.enabeld=true', want: "- at '/config/volumes': additional properties 'enabeld' not allowed" },
    { set: 'config.volumes.enabled=yes', want: "- at '/config/volumes/enabled': got string, want null or boolean" },
    {
      set: 'config.log.level=verbose',
      want: "- at '/config/log/level': value must be one of 'trace', 'debug', 'info', 'warn'",
    },
    { set: 'config.server.port=0', want: "- at '/config/server/port': minimum: got 0, want 1" },
    { set: 'mode=hubb', want: "- at '/mode': value must be one of 'member', 'hub', 'hub-objects'" },
    { set: 'crds.kept=true', want: "value must be 'an object with only these keys: enabled, keep'" },
    { set: 'image.digest=sha256:abc', want: "- at '/image/digest': value must be 'sha256: and 64 hexadecimal digits'" },
    {
      set: 'image.registry=https://example.org',
      want: "- at '/image/registry': value must be 'the host of a registry",
    },
    {
      set: 'podDisruptionBudget.maxUnavailable=0',
      want: "- at '/podDisruptionBudget/maxUnavailable': minimum: got 0, want 1",
    },
    { set: 'podDisruptionBudget.maxUnavailable=0%', want: '0 blocks the drain of nodes' },
    {
      set: 'affinity.nodeAfinity.x=1',
      want: "value must be 'an object with only these keys: nodeAffinity, podAffinity, podAntiAffinity'",
    },
    {
      set: 'affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0].topologykey=zone',
      want: "additional properties 'topologykey' not allowed",
    },
    {
      set: 'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0].operator=in',
      want: "operator': value must be one of 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'",
    },
    {
      set: 'tolerations[0].effect=Noschedule',
      want: "value must be one of 'NoSchedule', 'PreferNoSchedule', 'NoExecute'",
    },
    {
      set: 'topologySpreadConstraints[0].topologyKey=zone',
      want: "missing properties 'maxSkew', 'whenUnsatisfiable'",
    },
    { set: 'serviceMonitor.interval=30', want: "- at '/serviceMonitor/interval': got number, want string" },
    {
      set: 'certManager.duration=90d',
      want: "- at '/certManager/duration': value must be 'a duration such as 30s, 5m or 2160h'",
    },
    {
      set: 'serviceMonitor.relabelings[0].sourceLabel=pod',
      want: 'an object with only these keys: action, modulus, regex, replacement, separator, sourceLabels, targetLabel',
    },
    {
      set: 'podMonitor.metricRelabelings[0].action=remove',
      want: "- at '/podMonitor/metricRelabelings/0/action': value must be one of 'replace', 'Replace', 'keep'",
    },
    {
      set: 'systems.lake.system=lake,systems.lake.plugin=iceburg',
      want: "- at '/systems/lake/plugin': value must be one of 'amoro', 'hive-metastore', 'iceberg-rest', 's3', 'static', 'webhdfs'",
    },
    { set: 'systems.lake.system=lake', want: "- at '/systems/lake': missing property 'plugin'" },
    { set: 'systems.\\.lake.system=s3', want: 'an object whose keys consist of letters, digits' },
    {
      set: 'networkPolicy.apiServer.ports={99999}',
      want: "- at '/networkPolicy/apiServer/ports/0': maximum: got 99,999",
    },
  ])('$set', async ({ set, want }) => {
    const [rendered, linted] = await Promise.all([
      helm.run(['template', 'lodestone', chart, '--set', set]),
      helm.run(['lint', chart, '--set', set]),
    ])

    expect(rendered).toMatchObject({ code: 1, stdout: '' })
    expect(rendered.stderr).toContain(want)
    expect(linted.code).toBe(1)
    expect(linted.stdout).toContain(want)
  })

  test.each([
    {
      what: 'a URL in a mode that does not use it',
      values: { registration: { url: 'https://10.0.0.7:9443' } },
      want: 'registration.url: has no effect with registration.mode service; set registration.mode=url',
    },
    {
      what: 'a request above its limit',
      values: { resources: { requests: { memory: '1Gi' } } },
      want: 'resources.requests.memory: 1Gi is above resources.limits.memory, which is 512Mi; lower the request or raise the limit',
    },
    {
      what: 'a request above its limit in another unit',
      values: { resources: { requests: { cpu: 2 }, limits: { cpu: '1500m' } } },
      want: 'resources.requests.cpu: 2 is above resources.limits.cpu, which is 1500m',
    },
    {
      what: 'a kubeconfig of a hub in a member',
      values: { kubeconfigSecret: { name: 'hub' } },
      want: 'kubeconfigSecret.name: has no effect with mode member, which uses no Secret; set mode=hub',
    },
    {
      what: 'data on the nodes of a hub',
      values: { mode: 'hub', config: { volumes: { enabled: true } } },
      want: 'config.volumes.enabled: has no effect on a hub',
    },
    {
      what: 'no ServiceAccount',
      values: { serviceAccount: { create: false } },
      want: 'serviceAccount.name: required with serviceAccount.create=false',
    },
    {
      what: 'no DNS servers',
      values: { dnsPolicy: 'None' },
      want: 'dnsConfig.nameservers: required with dnsPolicy None',
    },
    {
      what: 'both monitors',
      values: { serviceMonitor: { enabled: true }, podMonitor: { enabled: true } },
      want: 'with serviceMonitor.enabled Prometheus would scrape each pod twice; enable one of them',
    },
    {
      what: 'a monitor whose Prometheus a NetworkPolicy keeps out',
      values: { serviceMonitor: { enabled: true }, networkPolicy },
      want: 'networkPolicy.prometheus.from: required with serviceMonitor or podMonitor',
    },
    {
      what: 'a scrape that would take longer than its interval',
      values: { podMonitor: { enabled: true, scrapeTimeout: '1m1s', interval: '60s' } },
      want: 'podMonitor.scrapeTimeout: 1m1s is above podMonitor.interval, which is 60s; lower the timeout or raise the interval',
    },
    {
      what: 'a certificate that is shorter than cert-manager allows',
      values: { certManager: { enabled: true, duration: '59m', renewBefore: '10m' } },
      want: 'certManager.duration: 59m is below 1h, the minimum of cert-manager; raise it',
    },
    {
      what: 'a certificate that would be renewed before it is issued',
      values: { certManager: { enabled: true, duration: '720h' } },
      want: 'certManager.renewBefore: 720h must be at least 5m, and below certManager.duration, which is 720h',
    },
    {
      what: 'one port for two servers',
      values: { config: { server: { port: 8080 } } },
      want: 'config.server.healthPort: 8080 is the port of admission; choose another port',
    },
    {
      what: 'a dispatcher of MultiKueue without the checks of Kueue',
      values: { config: { kueue: { multiKueue: { enabled: true } } } },
      want: 'config.kueue.multiKueue.enabled: requires config.kueue.enabled=true',
    },
    {
      what: 'names of callers without the CA that verifies them',
      values: { config: { server: { clientNames: ['kube-apiserver'] } } },
      want: 'config.server.clientNames: requires config.server.clientCaFile',
    },
    {
      what: 'two places of data systems in the configuration',
      values: { config: { systems: { directory: '/plugins', configMap: { namespace: 'a', name: 'b' } } } },
      want: 'config.systems.configMap: must not be given together with config.systems.directory',
    },
    {
      what: 'a host that no certificate can have',
      values: { config: { certificates: { hosts: ['lodestone.example.org', 'https://lodestone.example.org'] } } },
      want: 'a DNS name or an IP address, e.g. lodestone.example.org',
    },
    {
      what: 'a local network that is a name',
      values: { config: { volumes: { allowedLocalNetworks: ['localhost'] } } },
      want: 'an address, or a network in CIDR notation, e.g. 127.0.0.0/8',
    },
    {
      what: 'more free disk space than a number can have',
      values: { config: { volumes: { movers: { keepFree: '8Pi' } } } },
      want: 'config.volumes.movers.keepFree: 8Pi must be less than 8Pi',
    },
    {
      what: 'a transfer without a price and a bandwidth',
      values: { config: { transferCosts: { links: [{ from: {}, to: {} }] } } },
      want: 'config.transferCosts.links[0]: needs pricePerGiB, bytesPerSecond, or both',
    },
    {
      what: 'less memory for requests than the largest one',
      values: { config: { server: { maxBytesInFlight: '6Mi' } } },
      want: 'config.server.maxBytesInFlight: 6Mi is below 7Mi, the largest body; raise it',
    },
    {
      what: 'limits of movers in one namespace without that namespace',
      values: { config: { volumes: { movers: { maxResources: { cpu: '2' } } } } },
      want: 'config.volumes.movers.maxResources: has no effect without config.volumes.movers.namespace',
    },
    {
      what: 'a limit of movers below their default request',
      values: { config: { volumes: { movers: { resources: { limits: { memory: '128Mi' } } } } } },
      want: 'config.volumes.movers.resources.requests.memory: 256Mi is above config.volumes.movers.resources.limits.memory',
    },
    {
      what: 'a high watermark below the default of the low one',
      values: { config: { volumes: { eviction: { highWatermarkPercent: 75 } } } },
      want: 'config.volumes.eviction.lowWatermarkPercent: 80 must be less than highWatermarkPercent, which is 75',
    },
    {
      what: 'a root of local volumes around the default one of data',
      values: { config: { volumes: { localRoots: ['/mnt/fast', '/var/'] } } },
      want: 'config.volumes.localRoots: /var/ overlaps /var/datasets of config.volumes.allowedRoots',
    },
    {
      what: 'roots of local volumes in each other',
      values: { config: { volumes: { localPaths: 'roots', localRoots: ['/mnt/fast', '/mnt'] } } },
      want: 'config.volumes.localRoots: /mnt/fast is in /mnt; with localPaths: roots, name directories',
    },
    {
      what: 'two sources of certificates',
      values: { certManager: { enabled: true }, config: { certificates: { source: 'secret' } } },
      want: 'config.certificates: differs from certManager.enabled',
    },
    {
      what: 'a hub that would have to call a Service',
      values: { mode: 'hub', registration: { mode: 'service' } },
      want: 'registration.mode: service does not work with mode hub and hub-objects, since no pods run on a Karmada hub; set registration.mode=url',
    },
    {
      what: 'another mode in the configuration',
      values: { config: { registration: { mode: 'none' } } },
      want: 'config.registration.mode: differs from the other objects of the chart; set registration.mode',
    },
    {
      what: 'another Service in the configuration',
      values: { config: { registration: { service: { port: 8443 } } } },
      want: 'config.registration.service: differs from the other objects of the chart; remove it',
    },
    {
      what: 'a Secret for certificates without a right to it',
      values: { config: { certificates: { secret: { name: 'mine' } } } },
      want: 'config.certificates.secret: differs from the other objects of the chart; remove it',
    },
    {
      what: 'certificates in a folder of a pod',
      values: { config: { certificates: { source: 'directory' } } },
      want: 'config.certificates.source: directory does not work in pods',
    },
    {
      what: 'several replicas without leader election',
      values: { config: { leaderElection: { enabled: false } } },
      want: 'config.leaderElection.enabled: false needs replicaCount=1',
    },
    {
      what: 'a Secret that is not mounted',
      values: {
        systemSecrets: ['lake'],
        systems: {
          amoro: { system: 'amoro', endpoint: { auth: { tokenFile: '/etc/lodestone-secrets/amoro/token' } } },
        },
      },
      want: '/etc/lodestone-secrets/amoro: the Secret amoro is not mounted; add it to systemSecrets',
    },
  ])('$what', async ({ values, want }) => {
    const { code, stderr } = await helm.render(values)

    expect(code).toBe(1)
    expect(stderr).toContain(want)
  })
})

describe('after an installation, the next steps are printed', () => {
  const hub = { mode: 'hub', kubeconfigSecret: { name: 'hub' } }
  const url = 'https://lodestone.lodestone-system.svc:443'

  test.each([
    {
      what: 'in a cluster',
      values: {},
      want: [
        'kubectl -n lodestone-system rollout status deployment/lodestone',
        'in a Pod with helm test lodestone -n lodestone-system, or here:\n',
        'lodestone check-install --wait 2m\n',
        'The API server must reach the Service lodestone-system/lodestone.',
        'users or pipelines write DataSources',
        '--reuse-values --set config.volumes.enabled=true',
        'docs/tutorials/getting-started-hub.md, step 2',
      ],
    },
    {
      what: 'for the objects of a hub',
      values: { mode: 'hub-objects', config: { dependencies: { distribution: 'builtin' } } },
      want: [
        'lodestone kubeconfig --context hub -o secret | kubectl --context host apply --server-side -f -\n',
        'helm install lodestone charts/lodestone --kube-context host -n lodestone-system --set mode=hub\n',
      ],
    },
    {
      what: 'for the objects of a hub, with another account',
      values: {
        mode: 'hub-objects',
        serviceAccount: { name: 'pulls' },
        config: { dependencies: { distribution: 'builtin' } },
      },
      want: ['lodestone kubeconfig --context hub -o secret --service-account lodestone-system/pulls | kubectl'],
    },
    {
      what: 'on a hub with the Secret of the command',
      values: { mode: 'hub' },
      want: [
        'lodestone kubeconfig --context hub -o secret | kubectl --context host apply --server-side -f -\n',
        'lodestone check-install --wait 2m --context hub\n',
      ],
    },
    {
      what: 'on a hub with data systems',
      values: { ...hub, systems: { amoro: { system: 'amoro' } }, systemSecrets: ['lake', 'warehouse'] },
      want: [
        'lodestone kubeconfig --context hub --output-file lodestone.config\n',
        'create secret generic hub --from-file=kubeconfig=lodestone.config',
        'when the Secrets of the data systems exist: lake, warehouse.',
        '--kube-context hub --set mode=hub-objects\n',
        `The API server of the hub must reach ${url}.`,
        'Lodestone queries amoro for the data of claims.',
        'A Lodestone in each member cluster brings data to its nodes',
      ],
    },
    {
      what: 'on a hub, with a ConfigMap of data systems',
      values: {
        ...hub,
        config: { systems: { configMap: { namespace: 'platform', name: 'plugins' } } },
      },
      want: ['from the ConfigMap platform/plugins', 'if it has the same config.systems'],
    },
    {
      what: 'with volumes, registered by another tool',
      values: {
        registration: { mode: 'none' },
        config: { volumes: { enabled: true, movers: { namespace: 'movers' } } },
      },
      want: [
        'Another tool registers the webhooks.',
        "get secret lodestone-certificates -o jsonpath='{.data.ca\\.crt}' | base64 -d > ca.crt",
        'lodestone manifests registration --config lodestone.yaml --ca ca.crt',
        'kubectl label namespace movers pod-security.kubernetes.io/enforce=privileged',
        'create a VolumeManager: docs/tutorials/getting-started-volumes.md, step 2',
      ],
    },
  ])('$what', async ({ values, want }) => {
    const { code, stdout } = await helm.run(['install', 'lodestone', chart, '--dry-run=server'], values)

    expect(code).toBe(0)
    const notes = stdout.slice(stdout.indexOf('NOTES:'))
    for (const text of want) expect(notes).toContain(text)
    expect(notes).not.toContain('<no value>')
  })
})
