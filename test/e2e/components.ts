// The components of the control plane: the program of each, its flags and its readiness check.
import { join } from 'node:path'
import type { ControllersProgram, KarmadaProgram, KubernetesProgram, NodesProgram } from './binaries.ts'
import { kwokConfigFile } from './nodes.ts'
import type { KeyAndCertificate, Pki } from './pki.ts'

export const kubernetesComponents = ['etcd', 'kube-apiserver'] as const satisfies KubernetesProgram[]
export const controllersComponents = ['kube-controller-manager'] as const satisfies ControllersProgram[]
export const nodesComponents = ['kube-scheduler', 'kwok'] as const satisfies NodesProgram[]
export const karmadaComponents = [
  'karmada-aggregated-apiserver',
  'karmada-webhook',
  'karmada-controller-manager',
  'karmada-scheduler',
] as const satisfies KarmadaProgram[]

export type Component =
  | (typeof kubernetesComponents)[number]
  | (typeof controllersComponents)[number]
  | (typeof nodesComponents)[number]
  | (typeof karmadaComponents)[number]

// What happens to a workload in a cluster that gets a NoExecute taint. `Gracefully`: it stays until its replacement is healthy, or a timeout.
// `Directly`: it is deleted first.
export type PurgeMode = 'Gracefully' | 'Directly'

export interface ComponentContext {
  dir: string
  ports: Readonly<Record<Component | 'etcd-peer', number>>
  pki: Pki
  serving: KeyAndCertificate
  frontProxy: KeyAndCertificate
  admin: KeyAndCertificate
  kubeconfig: string
  // Whether there are nodes, and so pods.
  withNodes: boolean
  // The minor version of kube-apiserver.
  kubernetesMinor: number
  // Whether NoExecute taints evict, and how.
  failover: PurgeMode | undefined
}

// The name under which kube-apiserver's aggregation layer checks the certificate of Karmada's API server.
export const aggregatedApiserverHost = 'karmada-aggregated-apiserver.karmada-system.svc'

const frontProxyName = 'front-proxy-client'

// Neither the clients' nor the servers' rate limits are what the tests are about.
const clientRate = ['--kube-api-qps=500', '--kube-api-burst=1000']
// Nor are those of Karmada's work queues: 10 items per second after a burst of 100. A retry comes later each time, up to 17 minutes.
const queueRate = ['--rate-limiter-qps=1000', '--rate-limiter-bucket-size=1000', '--rate-limiter-max-delay=2s']
const singleInstance = ['--leader-elect=false', '--metrics-bind-address=0']

// On a hub workloads are templates: no controller makes pods of them.
const kubernetesControllers = ['garbage-collector-controller', 'namespace-controller']

// In a cluster with nodes, beside those.
const podControllers = [
  'cronjob-controller',
  'daemonset-controller',
  'deployment-controller',
  'job-controller',
  'node-lifecycle-controller',
  'persistentvolume-binder-controller',
  'pod-garbage-collector-controller',
  'replicaset-controller',
  'resourcequota-controller',
  'statefulset-controller',
]

// Names that older versions reject, with the first minor version that has them.
const podControllersSince: Readonly<Record<string, number>> = { 'taint-eviction-controller': 29 }

// Execution and status collection are left out: they would need member clusters that exist.
const controllers = [
  'binding',
  'bindingStatus',
  'cluster',
  'clustertaintpolicy',
  'gracefulEviction',
  'namespace',
  'workloadRebalancer',
]

export function componentFlags(component: Component, context: ComponentContext): string[] {
  const { dir, ports, pki, serving, frontProxy, kubeconfig, failover } = context
  const port = ports[component]
  const etcd = `--etcd-servers=http://127.0.0.1:${ports.etcd}`
  const tls = [`--tls-cert-file=${serving.certificateFile}`, `--tls-private-key-file=${serving.keyFile}`]
  // Of a server that asks kube-apiserver about its callers.
  const delegating = [
    `--kubeconfig=${kubeconfig}`,
    `--authentication-kubeconfig=${kubeconfig}`,
    `--authorization-kubeconfig=${kubeconfig}`,
    '--bind-address=127.0.0.1',
    `--secure-port=${port}`,
    ...tls,
  ]
  switch (component) {
    case 'etcd': {
      const client = `http://127.0.0.1:${port}`
      const peer = `http://127.0.0.1:${ports['etcd-peer']}`
      return [
        `--data-dir=${join(dir, 'etcd')}`,
        `--listen-client-urls=${client}`,
        `--advertise-client-urls=${client}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=default=${peer}`,
        '--unsafe-no-fsync',
        // It votes for itself after that time, which is a second by default.
        '--heartbeat-interval=10',
        '--election-timeout=100',
      ]
    }
    case 'kube-apiserver':
      return [
        etcd,
        '--bind-address=127.0.0.1',
        '--advertise-address=127.0.0.1',
        `--secure-port=${port}`,
        // A loopback address is not allowed in Endpoints, and no client needs these.
        '--endpoint-reconciler-type=none',
        '--service-cluster-ip-range=10.96.0.0/12',
        ...tls,
        `--client-ca-file=${pki.caFile}`,
        '--authorization-mode=Node,RBAC',
        '--allow-privileged=true',
        '--disable-admission-plugins=StorageObjectInUseProtection,ServiceAccount',
        '--service-account-issuer=https://kubernetes.default.svc.cluster.local',
        `--service-account-key-file=${pki.serviceAccountKeyFile}`,
        `--service-account-signing-key-file=${pki.serviceAccountKeyFile}`,
        `--requestheader-client-ca-file=${pki.caFile}`,
        `--requestheader-allowed-names=${frontProxyName}`,
        '--requestheader-extra-headers-prefix=X-Remote-Extra-',
        '--requestheader-group-headers=X-Remote-Group',
        '--requestheader-username-headers=X-Remote-User',
        `--proxy-client-cert-file=${frontProxy.certificateFile}`,
        `--proxy-client-key-file=${frontProxy.keyFile}`,
        '--enable-priority-and-fairness=false',
        '--max-requests-inflight=4000',
        '--max-mutating-requests-inflight=2000',
      ]
    case 'kube-controller-manager':
      return [
        ...delegating,
        '--leader-elect=false',
        `--controllers=${controllersOf(context).join(',')}`,
        // How often volumes are bound to claims; 15 s by default.
        '--pvclaimbinder-sync-period=1s',
        ...clientRate,
      ]
    case 'kube-scheduler':
      return [...delegating, '--leader-elect=false', ...clientRate]
    case 'kwok':
      return [
        `--kubeconfig=${kubeconfig}`,
        `--config=${kwokConfigFile(dir)}`,
        '--manage-all-nodes=true',
        '--node-lease-duration-seconds=40',
        `--server-address=127.0.0.1:${port}`,
      ]
    case 'karmada-aggregated-apiserver':
      return [etcd, ...delegating, '--enable-priority-and-fairness=false', ...clientRate]
    case 'karmada-webhook':
      return [
        `--kubeconfig=${kubeconfig}`,
        '--bind-address=127.0.0.1',
        `--secure-port=${port}`,
        `--cert-dir=${dir}`,
        `--tls-cert-file-name=${serving.certificateFile.slice(dir.length + 1)}`,
        `--tls-private-key-file-name=${serving.keyFile.slice(dir.length + 1)}`,
        '--allow-no-execute-taint-policy=true',
        '--metrics-bind-address=0',
        '--health-probe-bind-address=0',
        ...clientRate,
      ]
    case 'karmada-controller-manager':
      return [
        `--kubeconfig=${kubeconfig}`,
        `--controllers=${controllers.join(',')}`,
        `--health-probe-bind-address=127.0.0.1:${port}`,
        ...(failover ? [failoverGate, ...evictionFlags(failover)] : []),
        ...singleInstance,
        ...clientRate,
        ...queueRate,
      ]
    case 'karmada-scheduler':
      return [
        `--kubeconfig=${kubeconfig}`,
        `--health-probe-bind-address=127.0.0.1:${port}`,
        ...(failover ? [failoverGate] : []),
        ...singleInstance,
        ...clientRate,
        ...queueRate,
      ]
    default:
      return assertNever(component)
  }
}

// Off by default up to Karmada 1.18.
const failoverGate = '--feature-gates=Failover=true'

// The same in Karmada 1.16 to 1.18 (cmd/controller-manager/app/options). Agents that do not exist report no healthy replacement, so that a
// graceful eviction ends at its timeout, which is 10 minutes by default. By default one workload is evicted in two seconds.
function evictionFlags(purgeMode: PurgeMode): string[] {
  return [
    '--enable-no-execute-taint-eviction=true',
    `--no-execute-taint-eviction-purge-mode=${purgeMode}`,
    '--graceful-eviction-timeout=3s',
    '--resource-eviction-rate=100',
  ]
}

function controllersOf({ withNodes, kubernetesMinor }: ComponentContext): string[] {
  if (!withNodes) return kubernetesControllers
  const since = Object.entries(podControllersSince).flatMap(([name, minor]) => (kubernetesMinor < minor ? [] : [name]))
  return [...kubernetesControllers, ...podControllers, ...since]
}

export function readyUrl(component: Component, port: number): string {
  switch (component) {
    case 'etcd':
      return `http://127.0.0.1:${port}/health`
    case 'kube-apiserver':
    case 'karmada-aggregated-apiserver':
      return `https://127.0.0.1:${port}/readyz`
    case 'kube-controller-manager':
    case 'kube-scheduler':
      return `https://127.0.0.1:${port}/healthz`
    case 'karmada-webhook':
      return `https://127.0.0.1:${port}/readyz/`
    case 'kwok':
    case 'karmada-controller-manager':
    case 'karmada-scheduler':
      return `http://127.0.0.1:${port}/healthz`
    default:
      return assertNever(component)
  }
}

export async function issueServing(pki: Pki): Promise<KeyAndCertificate> {
  return pki.issue({
    name: 'serving',
    commonName: 'localhost',
    dnsNames: ['localhost', aggregatedApiserverHost],
    ipAddresses: ['127.0.0.1'],
  })
}

export async function issueFrontProxy(pki: Pki): Promise<KeyAndCertificate> {
  return pki.issue({ name: frontProxyName, commonName: frontProxyName })
}

function assertNever(value: never): never {
  throw new Error(`not a component: ${String(value)}`)
}
