// Runs Kueue's controller manager on a control plane, with its CRDs. Of its webhooks only that of Workloads is registered: jobs are created
// suspended.
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { parse, stringify } from 'yaml'
import type { AdmissionCheckState } from '../../src/api/kueue.ts'
import type { Condition, ManagedFieldsEntry } from '../../src/api/meta.ts'
import type { KubeObject } from './api-client.ts'
import { ensureKueue } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { freePorts, startProcess } from './processes.ts'

export const KUEUE_NAMESPACE = 'kueue-system'
const API = 'kueue.x-k8s.io/v1beta2'

export interface WorkloadObject extends KubeObject {
  metadata: KubeObject['metadata'] & { managedFields?: ManagedFieldsEntry[] }
  status?: {
    conditions?: Condition[]
    admissionChecks?: AdmissionCheckState[]
    nominatedClusterNames?: string[]
    clusterName?: string
  }
}

/**
 * Installs the CRDs and starts the controller manager with the rights of an administrator. It ends with the plane.
 *
 * @param multiKueue the section `multiKueue` of its configuration
 */
export async function startKueue(plane: ControlPlane, multiKueue?: object): Promise<void> {
  const { kueue, crds } = await ensureKueue()
  const [healthPort = 0, webhookPort = 0] = await freePorts(2)
  await installCrds(plane, crds, `https://127.0.0.1:${webhookPort}/convert`)
  await plane.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: KUEUE_NAMESPACE } },
    // For the certificates that it makes. It serves those of the folder: the addresses of its own are names of a Service.
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'kueue-webhook-server-cert', namespace: KUEUE_NAMESPACE } },
  ])
  const certificates = join(plane.dir, 'kueue-certs')
  await mkdir(certificates)
  const { certificate, key } = await plane.pki.issue({
    name: 'kueue-webhook',
    commonName: 'kueue-webhook',
    ipAddresses: ['127.0.0.1'],
  })
  await writeFile(join(certificates, 'tls.crt'), certificate)
  await writeFile(join(certificates, 'tls.key'), key)
  const configFile = join(plane.dir, 'kueue.yaml')
  const config = {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    namespace: KUEUE_NAMESPACE,
    health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
    metrics: { bindAddress: '0' },
    webhook: { host: '127.0.0.1', port: webhookPort, certDir: certificates },
    leaderElection: { leaderElect: false },
    clientConnection: { qps: 500, burst: 1000 },
    integrations: { frameworks: ['batch/job', 'pod'] },
    // A second API server, which these tests do not need.
    featureGates: { VisibilityOnDemand: false },
    ...(multiKueue && { multiKueue }),
  }
  await writeFile(configFile, stringify(config))
  const running = await startProcess({
    name: 'kueue',
    command: kueue,
    args: [`--config=${configFile}`],
    cwd: plane.dir,
    env: { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.kubeconfig },
    logFile: plane.logFile('kueue'),
    ready: async () => (await request(`http://127.0.0.1:${healthPort}/readyz`)).statusCode === 200,
    readyTimeoutMs: 120_000,
  })
  plane.onStop(() => running.stop(300))
  await plane.apply(workloadWebhook(plane, webhookPort))
}

// As Kueue installs it (config/components/webhook/manifests.yaml).
function workloadWebhook({ pki }: ControlPlane, port: number): KubeObject {
  const url = `https://127.0.0.1:${port}/validate-kueue-x-k8s-io-v1beta2-workload`
  const rule = { apiGroups: ['kueue.x-k8s.io'], apiVersions: ['v1beta2'], operations: ['CREATE', 'UPDATE'] }
  return {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'ValidatingWebhookConfiguration',
    // Not by Kueue's name, where it would write its own CA.
    metadata: { name: 'kueue-workloads' },
    webhooks: [
      {
        name: 'vworkload.kb.io',
        admissionReviewVersions: ['v1'],
        clientConfig: { url, caBundle: pki.caBundle },
        failurePolicy: 'Fail',
        rules: [{ ...rule, resources: ['workloads', 'workloads/status'] }],
        sideEffects: 'None',
      },
    ],
  } as KubeObject
}

// All requests are for the stored version, so the URL is never called. Kueue writes its CA there, and needs the field.
async function installCrds(plane: ControlPlane, folder: string, url: string): Promise<void> {
  for (const file of await readdir(folder)) {
    const crd = parse(await readFile(join(folder, file), 'utf8')) as KubeObject & { spec: { versions: object[] } }
    const webhook = { conversionReviewVersions: ['v1'], clientConfig: { url } }
    const conversion = crd.spec.versions.length > 1 ? { conversion: { strategy: 'Webhook', webhook } } : {}
    await plane.api.apply({ ...crd, spec: { ...crd.spec, ...conversion } })
  }
  await plane.crdsEstablished()
}

interface QueueOptions {
  checks?: string[]
  namespaces: string[]
  /** In CPUs. Default: 100. */
  quota?: number
}

/** A flavor, a queue of the cluster with these checks, and a queue in each namespace. */
export function queues(name: string, { checks = [], namespaces, quota = 100 }: QueueOptions): KubeObject[] {
  return [
    { apiVersion: API, kind: 'ResourceFlavor', metadata: { name: 'default-flavor' }, spec: {} } as KubeObject,
    {
      apiVersion: API,
      kind: 'ClusterQueue',
      metadata: { name },
      spec: {
        namespaceSelector: {},
        resourceGroups: [
          {
            coveredResources: ['cpu'],
            flavors: [{ name: 'default-flavor', resources: [{ name: 'cpu', nominalQuota: quota }] }],
          },
        ],
        ...(checks.length > 0 && {
          admissionChecksStrategy: { admissionChecks: checks.map((check) => ({ name: check })) },
        }),
      },
    } as KubeObject,
    ...namespaces.map(
      (namespace): KubeObject => ({
        apiVersion: API,
        kind: 'LocalQueue',
        metadata: { name, namespace },
        spec: { clusterQueue: name },
      }),
    ),
  ]
}

export function admissionCheck(name: string, spec: object = {}): KubeObject {
  return {
    apiVersion: API,
    kind: 'AdmissionCheck',
    metadata: { name },
    spec: { controllerName: 'lodestone.dev/data-ready', ...spec },
  }
}

interface JobOptions {
  queue: string
  namespace?: string
  /** The annotation `lodestone.dev/volumes` of the job. */
  volumes?: string
  /** Whether a node takes its pods; kwok ends them at once. Default: true. */
  runs?: boolean
  /** Whether MultiKueue runs it in a worker cluster. Default: false. */
  isRemote?: boolean
}

/** A suspended Job in a queue. */
export function queuedJob(
  name: string,
  { queue, namespace = 'default', volumes, runs = true, isRemote = false }: JobOptions,
): KubeObject {
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: {
      name,
      namespace,
      labels: { 'kueue.x-k8s.io/queue-name': queue },
      ...(volumes !== undefined && { annotations: { 'lodestone.dev/volumes': volumes } }),
    },
    spec: {
      suspend: true,
      ...(isRemote && { managedBy: 'kueue.x-k8s.io/multikueue' }),
      template: {
        metadata: { labels: { app: name } },
        spec: {
          restartPolicy: 'Never',
          ...(!runs && { nodeSelector: { node: 'none' } }),
          containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu: '1' } } }],
        },
      },
    },
  }
}

/** A pod in a queue, as Kueue's webhook of pods leaves it. */
export function queuedPod(name: string, queue: string, metadata: Partial<KubeObject['metadata']> = {}): KubeObject {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name,
      namespace: 'default',
      finalizers: ['kueue.x-k8s.io/managed'],
      ...metadata,
      labels: { 'kueue.x-k8s.io/queue-name': queue, 'kueue.x-k8s.io/managed': 'true', ...metadata.labels },
    },
    spec: {
      schedulingGates: [{ name: 'kueue.x-k8s.io/admission' }],
      containers: [{ name: 'main', image: 'main:1', resources: { requests: { cpu: '1' } } }],
    },
  }
}

/** What Kueue and Lodestone say about a job. */
export interface Progress {
  /** `Pending: the message`, for each check. */
  checks: Record<string, string>
  quotaReserved: boolean
  admitted: boolean
  /** Whether the job is suspended. */
  suspended: boolean
}

/** Returns the progress of a Job; undefined before it has a Workload. */
export async function progressOf(plane: ControlPlane, job: KubeObject): Promise<Progress | undefined> {
  const { name, namespace } = job.metadata
  const workload = await workloadOf(plane, job)
  const stored = (await plane.getJson('jobs.batch', name, namespace)) as { spec?: { suspend?: boolean } } | undefined
  if (!workload || !stored) return undefined
  const { conditions = [], admissionChecks = [] } = workload.status ?? {}
  const holds = (type: string) => conditions.some((one) => one.type === type && one.status === 'True')
  return {
    checks: Object.fromEntries(admissionChecks.map((one) => [one.name, `${one.state}: ${one.message}`])),
    quotaReserved: holds('QuotaReserved'),
    admitted: holds('Admitted'),
    suspended: stored.spec?.suspend === true,
  }
}

/** Returns the Workload of a Job. */
export async function workloadOf(plane: ControlPlane, job: KubeObject): Promise<WorkloadObject | undefined> {
  const { name, namespace } = job.metadata
  const workloads = (await plane.listJson('workloads.kueue.x-k8s.io', namespace)) as WorkloadObject[]
  return workloads.find(({ metadata }) =>
    (metadata['ownerReferences'] as { name: string }[] | undefined)?.some((owner) => owner.name === name),
  )
}
