// Runs Kueue's controller manager on a control plane, with its CRDs. Its webhooks are not registered: jobs are created suspended.
import { mkdir, readdir, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { parse, stringify } from 'yaml'
import type { AdmissionCheckState } from '../../src/api/kueue.ts'
import type { Condition } from '../../src/api/meta.ts'
import type { KubeObject } from './api-client.ts'
import { ensureKueue } from './binaries.ts'
import type { ControlPlane } from './control-plane.ts'
import { freePorts, startProcess } from './processes.ts'

const NAMESPACE = 'kueue-system'
const SECRET = 'kueue-webhook-server-cert'
const API = 'kueue.x-k8s.io/v1beta2'

export interface WorkloadObject extends KubeObject {
  status?: { conditions?: Condition[]; admissionChecks?: AdmissionCheckState[] }
}

/** Installs the CRDs and starts the controller manager with the rights of an administrator. It ends with the plane. */
export async function startKueue(plane: ControlPlane): Promise<void> {
  const { kueue, crds } = await ensureKueue()
  const [healthPort = 0, webhookPort = 0] = await freePorts(2)
  await installCrds(plane, crds, `https://127.0.0.1:${webhookPort}/convert`)
  await plane.apply([
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    { apiVersion: 'v1', kind: 'Secret', metadata: { name: SECRET, namespace: NAMESPACE } },
  ])
  const certificates = join(plane.dir, 'kueue-certs')
  await mkdir(certificates)
  const configFile = join(plane.dir, 'kueue.yaml')
  const config = {
    apiVersion: 'config.kueue.x-k8s.io/v1beta2',
    kind: 'Configuration',
    namespace: NAMESPACE,
    health: { healthProbeBindAddress: `127.0.0.1:${healthPort}` },
    metrics: { bindAddress: '0' },
    webhook: { host: '127.0.0.1', port: webhookPort, certDir: certificates },
    leaderElection: { leaderElect: false },
    clientConnection: { qps: 500, burst: 1000 },
    integrations: { frameworks: ['batch/job'] },
    // A second API server, which these tests do not need.
    featureGates: { VisibilityOnDemand: false },
  }
  await writeFile(configFile, stringify(config))
  const running = await startProcess({
    name: 'kueue',
    command: kueue,
    args: [`--config=${configFile}`],
    cwd: plane.dir,
    env: { PATH: process.env['PATH'] ?? '', HOME: plane.dir, KUBECONFIG: plane.kubeconfig },
    logFile: plane.logFile('kueue'),
    ready: async () => {
      await mountCertificates(plane, certificates)
      return (await request(`http://127.0.0.1:${healthPort}/readyz`)).statusCode === 200
    },
    readyTimeoutMs: 120_000,
  })
  plane.onStop(() => running.stop(300))
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

// As the kubelet does: Kueue writes its certificate into the Secret, and reads it from a mounted folder.
async function mountCertificates(plane: ControlPlane, folder: string): Promise<void> {
  const secret = (await plane.getJson('secrets', SECRET, NAMESPACE)) as { data?: Record<string, string> } | undefined
  for (const [name, content] of Object.entries(secret?.data ?? {})) {
    await writeFile(join(folder, `${name}.new`), Buffer.from(content, 'base64'))
    await rename(join(folder, `${name}.new`), join(folder, name))
  }
}

/** A flavor, a queue of the cluster with these checks, and a queue in each namespace. */
export function queues(name: string, { checks, namespaces }: { checks: string[]; namespaces: string[] }): KubeObject[] {
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
            flavors: [{ name: 'default-flavor', resources: [{ name: 'cpu', nominalQuota: 100 }] }],
          },
        ],
        admissionChecksStrategy: { admissionChecks: checks.map((check) => ({ name: check })) },
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
}

/** A suspended Job in a queue. */
export function queuedJob(
  name: string,
  { queue, namespace = 'default', volumes, runs = true }: JobOptions,
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
