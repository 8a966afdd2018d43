// Starts Lodestone as a child process against the test control plane, the way an operator would.
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { request } from 'undici'
import { stringify } from 'yaml'
import { isObject } from '../../src/base/json.ts'
import type { KubeObject } from './api-client.ts'
import { lodestoneOutput, main } from './command.ts'
import type { ControlPlane } from './control-plane.ts'
import { freePorts, startProcess } from './processes.ts'

export interface LodestoneOptions {
  // Tells apart several that run at once; also the stem of the log and the configuration file.
  name?: string
  // Admin when not given.
  kubeconfig?: string
  // Merged over what lodestoneConfig gives, section by section.
  config?: Record<string, unknown>
  args?: string[]
  env?: Record<string, string>
  // The program; another one than the sources, for instance the built one.
  entry?: string
  readyTimeoutMs?: number
}

export interface Lodestone {
  readonly url: string
  readonly healthUrl: string
  readonly pid: number
  readonly configFile: string
  readonly logFile: string
  readLog(): Promise<string>
  // The sum of a metric's samples, or of those whose labels contain `label`, such as `name="data-source"`.
  metric(name: string, label?: string): Promise<number>
  stop(graceMs?: number): Promise<void>
  // As a machine that loses its power: nothing is given back, and nothing is finished.
  kill(): Promise<void>
  // The same configuration and ports in a new process.
  restart(): Promise<void>
}

export const lodestoneUser = 'system:serviceaccount:lodestone-system:lodestone'

// As an administrator installs it. Gives a kubeconfig with the rights that this grants, and no others.
// `config` is the configuration that the rights are for; without it, they are for all features.
export async function installLodestone(plane: ControlPlane, config?: Record<string, unknown>): Promise<string> {
  // Where Karmada is, no pods run.
  const isHub = plane.components.includes('karmada-webhook')
  const parts = isHub ? (plane.servesPolicies ? ['absence'] : []) : ['volumes']
  const file = join(plane.dir, 'installed.yaml')
  // As `startLodestone` runs it: it registers itself.
  if (config) await writeFile(file, stringify({ registration: { mode: 'service' }, ...config }))
  const given = config ? ['--config', file] : []
  const input = await lodestoneOutput(['manifests', 'crds', 'rbac', ...parts, ...given])
  await plane.kubectl(['apply', '-f', '-'], { input })
  await plane.crdsEstablished()
  await createRegistrations(plane)
  return plane.kubeconfigFor(lodestoneUser)
}

// The rights of the chart's Role: the Lease is not in the cluster-wide ones.
export function leaseRights(): KubeObject[] {
  const [apiVersion, namespace] = ['rbac.authorization.k8s.io/v1', 'lodestone-system']
  const metadata = { name: 'lodestone', namespace }
  const leases = { apiGroups: ['coordination.k8s.io'], resources: ['leases'] }
  const rules = [
    { ...leases, resourceNames: ['lodestone'], verbs: ['get', 'update'] },
    { ...leases, verbs: ['create'] },
  ]
  return [
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
    { apiVersion, kind: 'Role', metadata, rules },
    {
      apiVersion,
      kind: 'RoleBinding',
      metadata,
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'Role', name: metadata.name },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: lodestoneUser }],
    },
  ]
}
// Empty, as the chart creates them: Lodestone fills them in, and may not create them.
export async function createRegistrations(plane: ControlPlane): Promise<void> {
  const kinds = { MutatingWebhookConfiguration: ADMISSION, ValidatingWebhookConfiguration: ADMISSION }
  const ofKarmada = { ResourceInterpreterWebhookConfiguration: 'config.karmada.io/v1alpha1' }
  const isHub = plane.components.includes('karmada-webhook')
  await plane.apply(
    Object.entries({ ...kinds, ...(isHub && ofKarmada) }).map(([kind, apiVersion]) => ({
      apiVersion,
      kind,
      metadata: { name: 'lodestone', labels: { 'app.kubernetes.io/name': 'lodestone' } },
      webhooks: [],
    })),
  )
}

const ADMISSION = 'admissionregistration.k8s.io/v1'

export async function startLodestone(plane: ControlPlane, options: LodestoneOptions = {}): Promise<Lodestone> {
  const name = options.name ?? 'lodestone'
  const [port = 0, healthPort = 0] = await freePorts(2)
  const certificates = join(plane.dir, `${name}-certs`)
  await mkdir(certificates, { recursive: true })
  const configFile = join(plane.dir, `${name}.yaml`)
  const config = mergeSections(lodestoneConfig(port, healthPort, certificates), options.config ?? {})
  await writeFile(configFile, stringify(config))
  const healthUrl = `http://127.0.0.1:${healthPort}`
  const logFile = plane.logFile(name)

  const start = () =>
    startProcess({
      name,
      command: process.execPath,
      args: [
        options.entry ?? main,
        'serve',
        '--kubeconfig',
        options.kubeconfig ?? plane.kubeconfig,
        '--config',
        configFile,
        ...(options.args ?? []),
      ],
      cwd: plane.dir,
      // As in the Dockerfile.
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: plane.dir,
        NODE_OPTIONS: '--max-semi-space-size=16',
        ...options.env,
      },
      logFile,
      ready: () => answersOk(`${healthUrl}/readyz`),
      readyTimeoutMs: options.readyTimeoutMs ?? 120_000,
    })

  let running = await start()
  plane.onStop(() => running.stop())
  return {
    url: `https://127.0.0.1:${port}`,
    healthUrl,
    get pid() {
      return running.pid
    },
    configFile,
    logFile,
    readLog: () => readFile(logFile, 'utf8'),
    metric: async (metric, label = '') => {
      const samples = (await get(`${healthUrl}/metrics`)).text.split('\n')
      const counted = samples.filter((sample) => /^[^{ ]*/.exec(sample)?.[0] === metric && sample.includes(label))
      return counted.reduce((sum, sample) => sum + Number(sample.slice(sample.lastIndexOf(' '))), 0)
    },
    stop: (graceMs) => running.stop(graceMs),
    kill: () => running.kill(),
    restart: async () => {
      await running.stop()
      running = await start()
    },
  }
}

// Returns the configuration that every Lodestone of the tests begins with.
function lodestoneConfig(port: number, healthPort: number, certificates: string): Record<string, unknown> {
  return {
    server: { host: '127.0.0.1', port, healthHost: '127.0.0.1', healthPort, drainSeconds: 0 },
    // Nothing is to be admitted unseen because a busy machine took its time.
    registration: { mode: 'url', url: `https://127.0.0.1:${port}`, timeoutSeconds: 10 },
    certificates: { directory: certificates },
    // Most tests run one process, and start it again after they have killed it: it would wait until its Lease expires.
    leaderElection: { enabled: false },
  }
}

function mergeSections(base: Record<string, unknown>, over: Record<string, unknown>): Record<string, unknown> {
  const merged = { ...base }
  for (const [section, value] of Object.entries(over)) {
    const below = merged[section]
    merged[section] = isObject(below) && isObject(value) ? { ...below, ...value } : value
  }
  return merged
}

async function answersOk(url: string): Promise<boolean> {
  return (await get(url)).status === 200
}

async function get(url: string): Promise<{ status: number; text: string }> {
  const { statusCode, body } = await request(url)
  return { status: statusCode, text: await body.text() }
}
