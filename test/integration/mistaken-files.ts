/** Files with one mistake each, for mistakes.ts. */

const kubeconfig = (server: string, currentContext = 'hub', more = '') => `apiVersion: v1
kind: Config
current-context: ${currentContext}
contexts: [{ name: hub, context: { cluster: hub, user: admin } }, { name: half, context: { cluster: gone, user: admin } }]
clusters: [{ name: hub, cluster: { server: '${server}'${more} } }]
users: [{ name: admin, user: { token: secret } }]
`
const claim = (spec: string) => `apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSourceClaim
metadata: { name: orders, namespace: demo }
spec: { ${spec} }
`
const data = 'dataSourceType: table, dataSourceName: prod.sales.orders'
const workload = 'workload: { apiVersion: apps/v1, kind: Deployment, name: trainer }'
const pod = 'spec: { containers: [{ name: main, image: trainer }] }'

export const FILES: Readonly<Record<string, string>> = {
  // A folder without mistakes, and files that are something else.
  'hub/claim.yaml': claim(`system: amoro, ${data}, ${workload}`),
  'shopping.txt': 'remember the milk\n',

  // The configuration of Lodestone.
  'tabs.yaml': 'registration:\n\tmode: url\n',
  'open.yaml': 'server: [\n',
  'twice.yaml': 'log: { level: info }\nlog: { level: debug }\n',
  'list.yaml': '- log\n',
  'key.yaml': 'registration:\n  mod: url\n',
  'mode.yaml': 'registration:\n  mode: ulr\n',
  'no-url.yaml': 'registration:\n  mode: url\n',
  'http.yaml': 'registration:\n  mode: url\n  url: http://10.0.0.7:9443\n',
  'text-port.yaml': "server:\n  port: '9443'\n",
  'large-port.yaml': 'server:\n  port: 94430\n',
  'few-bytes.yaml': 'server:\n  maxBytesInFlight: 1Mi\n',
  'names.yaml': 'server:\n  clientNames: [kube-apiserver]\n',
  'client-ca.yaml': 'server:\n  clientCaFile: nowhere.crt\n',
  'hosts.yaml': "certificates:\n  hosts: ['10.0.0.7:9443']\n",
  'volumes.yaml': 'volumes:\n  allowedRoots: [data]\n  movers:\n    keepFree: 1GB\n',
  'watermarks.yaml': 'volumes:\n  eviction: { highWatermarkPercent: 70 }\n',
  'related.yaml': 'dependencies:\n  related: [NetworkPolcy]\n',
  'distribution.yaml': 'dependencies:\n  distribution: karmda\n',
  'kinds.yaml': `workloadKinds:
  - { group: example.com, versions: [v1], kind: Gadget, plural: gadgets, templates: ['spec[template'] }
`,

  // Kubeconfigs.
  'kubeconfig/hub': kubeconfig('https://127.0.0.1:1'),
  'kubeconfig/no-context': kubeconfig('https://127.0.0.1:1', "''"),
  'kubeconfig/address': kubeconfig('127.0.0.1:6443'),
  'kubeconfig/lost-ca': kubeconfig('https://127.0.0.1:1', 'hub', ', certificate-authority: nowhere.crt'),
  'kubeconfig/open': 'clusters: [\n',

  // Certificates.
  'broken-certificates/ca.crt': 'garbage',
  'broken-certificates/tls.crt': 'garbage',
  'broken-certificates/tls.key': 'garbage',
  'no-certificates.yaml': 'certificates:\n  source: files\n  directory: nowhere\n',
  'secret.yaml': 'certificates:\n  source: secret\n',

  // Manifests.
  'manifest/tabs.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n\tname: settings\n',
  'manifest/comments.json': '{\n  // settings\n  "apiVersion": "v1",\n  "kind": "ConfigMap"\n}\n',
  'manifest/no-kind.yaml': 'apiVersion: v1\nmetadata: { name: settings }\n',
  'manifest/no-name.yaml': 'apiVersion: v1\nkind: ConfigMap\nmetadata: { namespace: demo }\n',
  'manifest/values.yaml': 'replicaCount: 3\n',
  'manifest/no-workload.yaml': claim(`system: amoro, ${data}`),
  'manifest/sytem.yaml': claim(`sytem: amoro, ${data}, ${workload}`),
  'manifest/policy.yaml': claim(`system: amoro, ${data}, ${workload}, policy: Prefered`),
  'manifest/no-selectors.yaml': `apiVersion: policy.karmada.io/v1alpha1
kind: PropagationPolicy
metadata: { name: trainer, namespace: demo }
spec: { placement: {} }
`,
  'manifest/source.yaml': `apiVersion: datadependency.volcano.sh/v1alpha1
kind: DataSource
metadata: { name: orders }
spec: { system: amoro, type: table, name: prod.sales.orders, locality: { clusterName: [member1] } }
`,
  'manifest/annotation.yaml': `apiVersion: v1
kind: Pod
metadata: { name: trainer, namespace: demo, annotations: { lodestone.dev/volume: mnist } }
${pod}
`,
  'manifest/volume.yaml': `apiVersion: vck.intelai.org/v1alpha1
kind: VolumeManager
metadata: { name: mnist, namespace: demo }
spec: { volumeConfigs: [{ id: images, replicas: 1, sourceType: S4, labels: { data: images } }] }
`,
}
