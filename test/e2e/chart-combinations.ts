// Combinations of values of the chart that users have.
import { namespace } from './chart.ts'

const ipBlock = (cidr: string) => ({ ipBlock: { cidr } })
export const peersOfSystem = { to: [ipBlock('10.2.0.0/16')], ports: [443] }
export const networkPolicy = {
  enabled: true,
  apiServer: { from: [ipBlock('10.0.0.0/28')] },
  systems: [peersOfSystem],
}

const endpoint = { url: 'https://catalog.example.org' }
const apiServerOfHub = {
  from: [{ podSelector: { matchLabels: { app: 'karmada-apiserver' } } }],
  to: [ipBlock('10.0.0.0/8')],
}

export const combinations: { what: string; values: object }[] = [
  { what: 'by default', values: {} },
  // Keys whose value is commented out.
  {
    what: 'with keys without a value',
    values: { config: null, systems: null, extraEnv: null, tolerations: null, hostNetwork: null },
  },
  {
    what: 'with sections of the configuration without a value',
    values: {
      config: { registration: { mode: null }, volumes: null, kueue: null, certificates: null, log: { level: null } },
    },
  },
  {
    what: 'where data is moved',
    values: {
      config: { volumes: { enabled: true, allowedRoots: ['/data'], eviction: { highWatermarkPercent: 90 } } },
    },
  },
  { what: 'with a NetworkPolicy', values: { networkPolicy } },
  { what: 'with checks of Kueue', values: { config: { kueue: { enabled: true, multiKueue: null } } } },
  {
    what: 'as the dispatcher of MultiKueue',
    values: { config: { kueue: { enabled: true, multiKueue: { enabled: true } } } },
  },
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
    what: 'with certificates in files and without loops',
    values: {
      config: {
        certificates: { source: 'files', directory: '/etc/lodestone-secrets/tls' },
        leaderElection: { enabled: false },
        loops: { enabled: false },
        volumes: { enabled: true },
      },
      systemSecrets: ['tls'],
    },
  },
  {
    what: 'without the logs of movers, which have an account of another name',
    values: {
      config: { volumes: { enabled: true, movers: { namespace, serviceAccountName: 'data-mover', logLines: 0 } } },
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
      mode: 'hub',
      systems: { lake: { system: 'lake', plugin: 'iceberg-rest', endpoint } },
      networkPolicy: {
        ...networkPolicy,
        apiServer: apiServerOfHub,
        prometheus: { from: [{ namespaceSelector: {} }] },
      },
    },
  },
  {
    what: 'for a hub at an address, with Secrets of data systems',
    values: {
      mode: 'hub',
      kubeconfigSecret: { name: 'hub', key: 'config' },
      registration: { mode: 'url', url: 'https://10.0.0.7:9443/lodestone' },
      systemSecrets: ['lake', 'credentials.of.the-warehouse'],
      systems: {
        'lake.yaml': {
          system: 'lake',
          plugin: 'iceberg-rest',
          endpoint: { ...endpoint, auth: { type: 'bearer', tokenFile: '/etc/lodestone-secrets/lake/token' } },
          regionMapping: null,
        },
        amoro: { system: 'amoro', endpoint, locationMapping: { 's3://warehouse-eu/': ['member1'] } },
        static: { system: 'static', extra: { sources: [] } },
      },
      config: { dependencies: { distribution: 'karmada' }, claims: { clusterScoped: 'allowed' } },
    },
  },
  {
    what: 'at a URL, with an image of a private registry',
    values: {
      registration: { mode: 'url', url: 'https://lodestone.example.org' },
      image: { repository: 'registry.example.org:5000/team/lodestone', tag: '0.1.0-1', pullPolicy: 'Always' },
      imagePullSecrets: [{ name: 'registry' }],
    },
  },
  {
    what: 'registered by another tool, with one replica',
    values: {
      replicaCount: 1,
      registration: { mode: 'none' },
      podDisruptionBudget: { enabled: false },
      config: { leaderElection: { enabled: false }, volumes: { whenNotReady: 'refuse' } },
    },
  },
  {
    what: 'on nodes of its own',
    values: {
      replicaCount: 3,
      nodeSelector: { 'kubernetes.io/os': 'linux' },
      tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            {
              topologyKey: 'kubernetes.io/hostname',
              labelSelector: { matchLabels: { 'app.kubernetes.io/name': 'lodestone' } },
            },
          ],
        },
      },
      priorityClassName: 'lodestone',
      podDisruptionBudget: { maxUnavailable: '50%' },
      serviceAccount: { annotations: { 'eks.amazonaws.com/role-arn': 'arn:aws:iam::123456789012:role/lodestone' } },
      extraEnv: [
        { name: 'HTTPS_PROXY', value: 'http://proxy.example.org:3128' },
        { name: 'NODE_NAME', valueFrom: { fieldRef: { fieldPath: 'spec.nodeName' } } },
      ],
      resources: { requests: { cpu: 1, memory: '1Gi' }, limits: { memory: '2Gi' } },
    },
  },
]
