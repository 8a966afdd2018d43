// Replaces the kubelet for the pods of a Deployment of the chart: runs the arguments and files of its container as a process.
import { mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { request } from 'undici'
import type { KubeObject } from './api-client.ts'
import { type Balancer, startBalancer } from './balancer.ts'
import { type Helm, helmOn, namespace, namespaceOf } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type CommandResult, freePorts, runCommand, startProcess } from './processes.ts'

interface PodSpec {
  serviceAccountName: string
  containers: {
    args: string[]
    env?: { name: string; value: string }[]
    volumeMounts: { name: string; mountPath: string }[]
  }[]
  volumes: { name: string; configMap?: { name: string }; secret?: { secretName: string } }[]
}

export interface DeployedPod {
  readonly port: number
  readonly healthUrl: string
  stop(): Promise<void>
}

export interface DeployedOptions {
  // Tells apart several pods; also the stem of the log.
  name: string
  // The main file that the image has.
  entry: string
}

export interface ChartCluster {
  plane: ControlPlane
  helm: Helm
  balancer: Balancer
  stop(): Promise<void>
}

/** Starts a cluster without Karmada in which the chart can be installed with `deployedValues`. */
export async function startChartCluster(): Promise<ChartCluster> {
  const plane = await startControlPlane({ karmada: false })
  const helm = await helmOn(plane)
  const balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
  await plane.apply([namespaceOf(namespace), await tlsSecret(plane)])
  const stop = async () => {
    await plane.stopAll()
    await helm.close()
  }
  return { plane, helm, balancer, stop }
}

/** Returns values for pods of this machine, behind a balancer in place of the Service, with the certificate of `tlsSecret`. */
export function deployedValues(balancer: Balancer) {
  return {
    registration: { mode: 'url', url: `https://127.0.0.1:${balancer.port}` },
    systemSecrets: ['tls'],
    config: {
      server: { host: '127.0.0.1', healthHost: '127.0.0.1', drainSeconds: 2 },
      certificates: { source: 'files', directory: '/etc/lodestone-secrets/tls' },
      dependencies: { distribution: 'none' },
      volumes: { enabled: true },
    },
  }
}

/** Returns a Secret with a certificate for the balancer, as cert-manager writes it. */
export async function tlsSecret(plane: ControlPlane): Promise<KubeObject> {
  const { certificate, key } = await plane.pki.issue({
    name: 'lodestone',
    commonName: 'lodestone',
    ipAddresses: ['127.0.0.1'],
  })
  const stringData = { 'tls.crt': certificate, 'tls.key': key, 'ca.crt': plane.pki.caCertificate }
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'tls', namespace }, stringData }
}

/** Returns the folder that replaces the file system of a pod: mounted volumes are below it. */
export const rootOf = (plane: ControlPlane, name: string) => join(plane.dir, `${name}-root`)

/** Starts the container of the Deployment `lodestone`, and resolves when the balancer gives it connections. */
export async function startDeployed(
  plane: ControlPlane,
  balancer: Balancer,
  { name, entry }: DeployedOptions,
): Promise<DeployedPod> {
  const deployment = await plane.getJson('deployments', 'lodestone', namespace)
  const { spec } = (deployment as KubeObject & { spec: { template: { spec: PodSpec } } }).spec.template
  const [port = 0, healthPort = 0] = await freePorts(2)
  const healthUrl = `http://127.0.0.1:${healthPort}`
  // All pods share an address here, so each one has ports of its own.
  const ports = ['--port', `${port}`, '--health-port', `${healthPort}`]
  const { args, env } = await containerOf(plane, spec, name)
  const running = await startProcess({
    name,
    command: process.execPath,
    args: [entry, ...args, ...ports],
    cwd: plane.dir,
    env,
    logFile: plane.logFile(name),
    ready: async () => (await request(`${healthUrl}/readyz`)).statusCode === 200,
    readyTimeoutMs: 180_000,
  })
  plane.onStop(() => running.stop())
  const pod: DeployedPod = {
    port,
    healthUrl,
    stop: async () => {
      await running.stop(30_000)
      balancer.remove(pod)
    },
  }
  balancer.add(pod)
  await plane.eventually(`the balancer gives connections to ${name}`, async () => balancer.isReady(pod))
  return pod
}

/** Runs a Pod when a Helm hook creates it, and writes the phase for which helm waits. Returns what it printed. */
export async function runHookPod(plane: ControlPlane, name: string, entry: string): Promise<CommandResult> {
  const found = await plane.eventually(`helm creates the Pod ${name}`, () => plane.getJson('pods', name, namespace))
  const { args, env } = await containerOf(plane, (found as KubeObject & { spec: PodSpec }).spec, name)
  const result = await runCommand(process.execPath, [entry, ...args], { cwd: plane.dir, env, timeoutMs: 120_000 })
  const status = { phase: result.code === 0 ? 'Succeeded' : 'Failed' }
  const path = `/api/v1/namespaces/${namespace}/pods/${name}/status`
  await plane.api.expect('PATCH', path, { status }, 'application/merge-patch+json')
  return result
}

/** Runs a Job when a Helm hook creates it, and writes the conditions for which helm waits. Returns what it printed. */
export async function runHookJob(plane: ControlPlane, name: string, entry: string): Promise<CommandResult> {
  const found = await plane.eventually(`helm creates the Job ${name}`, () => plane.getJson('jobs', name, namespace))
  const { spec } = found as KubeObject & { spec: { template: { spec: PodSpec } } }
  const { args, env } = await containerOf(plane, spec.template.spec, name)
  const result = await runCommand(process.execPath, [entry, ...args], { cwd: plane.dir, env, timeoutMs: 240_000 })
  const at = new Date().toISOString().replace(/\.\d+/, '')
  const times = { lastProbeTime: at, lastTransitionTime: at }
  const conditions = (result.code === 0 ? ['SuccessCriteriaMet', 'Complete'] : ['FailureTarget', 'Failed']).map(
    (type) => ({
      type,
      status: 'True',
      reason: 'Ended',
      ...times,
    }),
  )
  const ended = result.code === 0 ? { succeeded: 1, completionTime: at } : { failed: 1 }
  const status = { startTime: at, terminating: 0, ready: 0, uncountedTerminatedPods: {}, conditions, ...ended }
  const path = `/apis/batch/v1/namespaces/${namespace}/jobs/${name}/status`
  await plane.api.expect('PATCH', path, { status }, 'application/merge-patch+json')
  return result
}

/** Writes the files that the container mounts, and returns its arguments and its environment with their paths. */
async function containerOf(
  plane: ControlPlane,
  spec: PodSpec,
  name: string,
): Promise<{ args: string[]; env: Record<string, string> }> {
  const [container] = spec.containers
  if (!container) throw new Error('the pod has no container')
  const root = rootOf(plane, name)
  const inRoot = (text: string) =>
    container.volumeMounts.reduce((all, { mountPath }) => {
      return all.replaceAll(new RegExp(`(?<![\\w/-])${mountPath}(?![\\w-])`, 'g'), `${root}${mountPath}`)
    }, text)
  for (const { name: volume, mountPath } of container.volumeMounts) {
    const source = spec.volumes.find((one) => one.name === volume)
    for (const [file, content] of Object.entries(await filesOf(plane, source))) {
      const path = join(root, mountPath, file)
      await mkdir(dirname(path), { recursive: true })
      await writeFile(path, inRoot(content))
    }
  }
  // In place of the token that a kubelet mounts.
  const account = `system:serviceaccount:${namespace}:${spec.serviceAccountName}`
  const hasKubeconfig = container.args.some((arg) => arg.startsWith('--kubeconfig'))
  const token = hasKubeconfig ? [] : ['--kubeconfig', await plane.kubeconfigFor(account)]
  return {
    args: [...container.args.map(inRoot), ...token],
    env: {
      PATH: process.env['PATH'] ?? '',
      HOME: plane.dir,
      ...Object.fromEntries((container.env ?? []).map(({ name: key, value }) => [key, value])),
    },
  }
}

async function filesOf(plane: ControlPlane, volume: PodSpec['volumes'][number] | undefined) {
  const configMap = volume?.configMap && (await plane.getJson('configmaps', volume.configMap.name, namespace))
  if (configMap) return configMap['data'] as Record<string, string>
  const secret = volume?.secret && (await plane.getJson('secrets', volume.secret.secretName, namespace))
  if (!secret) throw new Error(`the volume ${volume?.name} has neither a ConfigMap nor a Secret that exists`)
  const data = Object.entries(secret['data'] as Record<string, string>)
  return Object.fromEntries(data.map(([key, text]) => [key, Buffer.from(text, 'base64').toString()]))
}
