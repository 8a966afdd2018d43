// Runs a Karmada control plane as plain processes on loopback ports: real API server, real controllers, no members.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Agent, request } from 'undici'
import { parseAllDocuments } from 'yaml'
import { aggregatedApi } from './aggregated-api.ts'
import { ApiClient, ApiError, type KubeObject } from './api-client.ts'
import {
  type Binaries,
  type ControllersBinaries,
  ensureBinaries,
  ensureControllersBinaries,
  ensureKubernetesBinaries,
  ensureNodesBinaries,
  type NodesBinaries,
} from './binaries.ts'
import {
  aggregatedApiserverHost,
  type Component,
  type ComponentContext,
  componentFlags,
  controllersComponents,
  issueFrontProxy,
  issueServing,
  karmadaComponents,
  kubernetesComponents,
  nodesComponents,
  type PurgeMode,
  readyUrl,
} from './components.ts'
import { karmadaWebhookConfigurations } from './karmada-webhooks.ts'
import { logToStderr } from './log.ts'
import { yamlOf } from './manifests.ts'
import { minorOf } from './matrix/versions.ts'
import { clusterObject, clusterStatus, type MemberCluster, memberClusters, type Taint } from './member-clusters.ts'
import { createNodes, type NodesOptions, writeKwokConfig } from './nodes.ts'
import { createPki, type Pki } from './pki.ts'
import { eventually } from './poll.ts'
import {
  type CommandResult,
  freePorts,
  makeTemporaryFolder,
  type RunningProcess,
  removeTemporaryFolder,
  runCommand,
  startProcess,
} from './processes.ts'

export interface ControlPlaneOptions {
  // false: only etcd and kube-apiserver, for what needs no more than a store.
  karmada?: boolean
  // true: kube-controller-manager follows owner references and empties deleted namespaces, as on a real hub.
  garbageCollector?: boolean
  // With these the plane is a cluster that only lacks kubelets. kube-controller-manager makes pods of workloads, kube-scheduler places
  // them, and kwok reports that they run.
  nodes?: NodesOptions
  clusters?: Record<string, MemberCluster>
  // Turns Karmada's failover on: a NoExecute taint of a cluster, by a user or a ClusterTaintPolicy, evicts its workloads in this way.
  failover?: PurgeMode
  // For a component; each replaces the harness's own flag of that name.
  flags?: Partial<Record<Component, string[]>>
}

export interface RunOptions {
  input?: string
  allowFailure?: boolean
  kubeconfig?: string
  timeoutMs?: number
}

export type Manifests = string | KubeObject | KubeObject[]

export async function startControlPlane(options: ControlPlaneOptions = {}): Promise<ControlPlane> {
  const withKarmada = options.karmada ?? true
  const { nodes } = options
  const withControllers = (options.garbageCollector ?? false) || nodes !== undefined
  const binaries = {
    ...(withKarmada ? await ensureBinaries() : await ensureKubernetesBinaries()),
    ...(withControllers && (await ensureControllersBinaries())),
    ...(nodes && (await ensureNodesBinaries())),
  }
  const startedAt = Date.now()
  const dir = await makeTemporaryFolder()
  logToStderr(`control plane in ${dir}`)
  const components = [
    ...kubernetesComponents,
    ...(withKarmada ? karmadaComponents : []),
    ...(withControllers ? controllersComponents : []),
    ...(nodes ? nodesComponents : []),
  ]
  const pki = await createPki(dir)
  const ports = await allocatePorts()
  const server = `https://127.0.0.1:${ports['kube-apiserver']}`
  const [serving, frontProxy, admin] = await Promise.all([
    issueServing(pki),
    issueFrontProxy(pki),
    pki.issueUser('admin', ['system:masters']),
  ])
  const kubeconfig = await pki.writeKubeconfig(server, 'admin', admin)
  const context = {
    dir,
    ports,
    pki,
    serving,
    frontProxy,
    admin,
    kubeconfig,
    withNodes: nodes !== undefined,
    failover: options.failover,
    kubernetesMinor: await minorOfProgram(binaries['kube-apiserver'], dir),
  }
  const plane = new ControlPlane({ server, binaries, components, context, flags: options.flags ?? {} })
  try {
    await plane.start('etcd')
    await plane.start('kube-apiserver')
    if (withKarmada) await installKarmada(plane, binaries as Binaries, options.clusters ?? memberClusters)
    // Last: it looks for kinds when it starts, and then only every thirty seconds.
    if (withControllers) await plane.start('kube-controller-manager')
    if (nodes) await startNodes(plane, nodes)
  } catch (error) {
    await plane.stopAll()
    throw error
  }
  logToStderr(`control plane up in ${((Date.now() - startedAt) / 1000).toFixed(1)} s at ${server}`)
  return plane
}

// Asks the program, since it may be a prebuilt one.
async function minorOfProgram(command: string, cwd: string): Promise<number> {
  const { stdout, stderr } = await runCommand(command, ['--version'], { cwd, env: {} })
  try {
    return minorOf(stdout)
  } catch (cause) {
    throw new Error(`${command} --version printed no version: ${stdout}${stderr}`, { cause })
  }
}

interface Parts {
  server: string
  binaries: Partial<Binaries & ControllersBinaries & NodesBinaries>
  components: Component[]
  context: ComponentContext
  flags: Partial<Record<Component, string[]>>
}

export class ControlPlane {
  readonly dir: string
  readonly kubeconfig: string
  readonly server: string
  readonly pki: Pki
  // Its requests are made as a member of system:masters.
  readonly api: ApiClient
  readonly eventually = eventually
  readonly #parts: Parts
  readonly #probe: Agent
  readonly #running = new Map<Component, RunningProcess>()
  readonly #cleanups: (() => Promise<void>)[] = []
  #stopped = false

  constructor(parts: Parts) {
    const { pki, dir, kubeconfig, admin } = parts.context
    this.dir = dir
    this.kubeconfig = kubeconfig
    this.server = parts.server
    this.pki = pki
    this.#parts = parts
    this.#probe = new Agent({ connect: { ca: pki.caCertificate } })
    this.api = new ApiClient({
      server: parts.server,
      ca: pki.caCertificate,
      certificate: admin.certificate,
      key: admin.key,
    })
  }

  /** Whether the API server serves ValidatingAdmissionPolicies: since Kubernetes 1.30. */
  get servesPolicies(): boolean {
    return this.#parts.context.kubernetesMinor >= 30
  }

  get components(): readonly Component[] {
    return this.#parts.components
  }

  /** The minor version of kube-apiserver. */
  get kubernetesMinor(): number {
    return this.#parts.context.kubernetesMinor
  }

  url(component: Component): string {
    const scheme = new URL(readyUrl(component, 0)).protocol
    return `${scheme}//127.0.0.1:${this.#parts.context.ports[component]}`
  }

  logFile(component: string): string {
    return join(this.dir, `${component}.log`)
  }

  pidOf(component: Component): number | undefined {
    return this.#running.get(component)?.pid
  }

  // Starts it again with the same port and flags after a stop; does nothing when it runs.
  async start(component: Component): Promise<void> {
    const command = this.#parts.binaries[component]
    if (!command || !this.components.includes(component)) throw new Error(`${component} is not part of this plane`)
    if (this.#running.get(component)?.hasExited() === false) return
    const url = readyUrl(component, this.#parts.context.ports[component])
    const running = await startProcess({
      name: component,
      command,
      args: withFlags(componentFlags(component, this.#parts.context), this.#parts.flags[component] ?? []),
      cwd: this.dir,
      env: this.#environment(this.kubeconfig),
      logFile: this.logFile(component),
      ready: async () => this.#isOk(url),
      // Not an error by itself, but useful to the reader of a failed test.
      onCrash: logToStderr,
    })
    this.#running.set(component, running)
    // One component that fails ends the plane while others are still starting.
    if (this.#stopped) await running.stop()
  }

  // The API servers and etcd take long to stop while clients keep a watch open, so the grace is short. The kill that
  // follows is no worse than a crash.
  async stop(component: Component, graceMs = 1_000): Promise<void> {
    await this.#running.get(component)?.stop(graceMs)
    this.#running.delete(component)
  }

  async restart(component: Component): Promise<void> {
    await this.stop(component)
    await this.start(component)
  }

  // Runs before the plane goes down, last added first: for what a test started on top of it.
  onStop(cleanup: () => Promise<void>): void {
    this.#cleanups.push(cleanup)
  }

  async stopAll(): Promise<void> {
    this.#stopped = true
    for (const cleanup of this.#cleanups.splice(0).reverse()) await cleanup()
    await Promise.all([this.api.close(), this.#probe.destroy()])
    await Promise.all([...this.#running.keys()].map((component) => this.stop(component, 300)))
    await removeTemporaryFolder(this.dir)
  }

  async kubectl(args: string[], options: RunOptions = {}): Promise<CommandResult> {
    return this.#run('kubectl', args, options)
  }

  // As `kubectl create -f -`. Throws if the API server rejects an object.
  async create(...objects: object[]): Promise<CommandResult> {
    return this.kubectl(['create', '-f', '-'], { input: yamlOf(...objects) })
  }

  async tryCreate(object: object): Promise<CommandResult> {
    return this.kubectl(['create', '-f', '-'], { input: yamlOf(object), allowFailure: true })
  }

  async karmadactl(args: string[], options: RunOptions = {}): Promise<CommandResult> {
    return this.#run('karmadactl', args, options)
  }

  // A kubeconfig file for another user; what the user may do is up to the test's own RBAC objects.
  async kubeconfigFor(user: string, groups: string[] = []): Promise<string> {
    return this.pki.writeKubeconfig(this.server, user, await this.pki.issueUser(user, groups))
  }

  // Server-side apply, in the order given; a string is YAML with any number of documents.
  async apply(manifests: Manifests): Promise<KubeObject[]> {
    const applied: KubeObject[] = []
    for (const object of objectsOf(manifests)) applied.push(await this.api.apply(object))
    return applied
  }

  async getJson(resource: string, name: string, namespace?: string): Promise<KubeObject | undefined> {
    return this.api.get(resource, name, namespace)
  }

  async listJson(resource: string, namespace?: string): Promise<KubeObject[]> {
    return this.api.list(resource, namespace)
  }

  // Returns once all CRDs are established. `kubectl wait` takes 3 s for those of a hub, since it limits its own rate.
  async crdsEstablished(): Promise<void> {
    await eventually('all CRDs are established', async () => (await this.listJson('crd')).every(isEstablished))
  }

  // Returns once the cluster can be scheduled to: known, untainted, and with its execution namespace.
  async addCluster(name: string, cluster: MemberCluster = {}): Promise<void> {
    await this.api.expect('POST', clustersPath, clusterObject(name, cluster))
    await this.setClusterStatus(name, cluster)
    await this.clusterSettled(name, cluster)
  }

  async setClusterStatus(name: string, cluster: MemberCluster): Promise<void> {
    const status = clusterStatus(cluster, new Date())
    await this.api.expect('PATCH', `${clustersPath}/${name}/status`, { status }, mergePatch)
  }

  async clusterSettled(name: string, { ready = true }: MemberCluster = {}): Promise<void> {
    await eventually(`cluster ${name} is taken up by the controllers`, async () => {
      const notReady = (await this.#taintsOf(name)).some((taint) => taint.key === notReadyTaint)
      return notReady === !ready && (await this.getJson('namespaces', `karmada-es-${name}`))
    })
  }

  async taintCluster(name: string, taint: Taint): Promise<void> {
    await this.#editTaints(name, (taints) => [...taints.filter((other) => !sameTaint(other, taint)), taint])
  }

  async untaintCluster(name: string, key: string): Promise<void> {
    await this.#editTaints(name, (taints) => taints.filter((taint) => taint.key !== key))
  }

  async #taintsOf(name: string): Promise<Taint[]> {
    const cluster = (await this.api.expect('GET', `${clustersPath}/${name}`)) as ClusterObject
    return cluster.spec.taints ?? []
  }

  async #editTaints(name: string, edit: (taints: Taint[]) => Taint[]): Promise<void> {
    await eventually(`the taints of cluster ${name} are written`, async () => {
      const cluster = (await this.api.expect('GET', `${clustersPath}/${name}`)) as ClusterObject
      const spec = { ...cluster.spec, taints: edit(cluster.spec.taints ?? []) }
      const written = await this.api.request('PUT', `${clustersPath}/${name}`, { ...cluster, spec })
      // The cluster controller writes taints too; on a conflict the next round starts from its version.
      if (written.status === 409) return false
      if (written.status >= 300) throw new ApiError('PUT', `${clustersPath}/${name}`, written)
      return true
    })
  }

  async #run(program: 'kubectl' | 'karmadactl', args: string[], options: RunOptions): Promise<CommandResult> {
    const command = this.#parts.binaries[program]
    if (!command) throw new Error(`${program} is not part of this plane`)
    const result = await runCommand(command, args, {
      cwd: this.dir,
      env: this.#environment(options.kubeconfig ?? this.kubeconfig),
      input: options.input,
      timeoutMs: options.timeoutMs,
    })
    if (result.code !== 0 && !options.allowFailure) {
      throw new Error(`${program} ${args.join(' ')} ended with ${result.code}: ${result.stderr}${result.stdout}`)
    }
    return result
  }

  // Nothing of the caller's environment: no proxies, no other kubeconfig, and caches stay below `dir`.
  #environment(kubeconfig: string): Record<string, string> {
    return { PATH: process.env['PATH'] ?? '', HOME: this.dir, KUBECONFIG: kubeconfig }
  }

  async #isOk(url: string): Promise<boolean> {
    if (url.startsWith(this.server)) return (await this.api.request('GET', new URL(url).pathname)).status === 200
    const response = await request(url, { dispatcher: this.#probe })
    await response.body.dump()
    return response.statusCode === 200
  }
}

const clustersPath = '/apis/cluster.karmada.io/v1alpha1/clusters'
const mergePatch = 'application/merge-patch+json'
const notReadyTaint = 'cluster.karmada.io/not-ready'

interface ClusterObject extends KubeObject {
  spec: { taints?: Taint[] }
}

async function installKarmada(
  plane: ControlPlane,
  binaries: Binaries,
  clusters: Record<string, MemberCluster>,
): Promise<void> {
  await Promise.all([
    installCrds(plane, binaries.crds),
    plane.apply(['karmada-system', 'karmada-cluster'].map(namespace)),
    plane.start('karmada-aggregated-apiserver'),
    plane.start('karmada-webhook'),
  ])
  const webhookUrl = plane.url('karmada-webhook')
  await Promise.all([
    plane.apply(
      aggregatedApi(plane.pki, {
        group: 'cluster.karmada.io',
        version: 'v1alpha1',
        host: aggregatedApiserverHost,
        port: Number(new URL(plane.url('karmada-aggregated-apiserver')).port),
      }),
    ),
    plane.apply(karmadaWebhookConfigurations(webhookUrl, plane.pki.caBundle)),
  ])
  // The API is there before discovery speaks of it, and the controllers below find their kinds by discovery.
  await eventually('Karmada has its Cluster API', () => plane.api.collection('clusters.cluster.karmada.io'), 30_000)
  await Promise.all([
    plane.start('karmada-controller-manager'),
    plane.start('karmada-scheduler'),
    ...Object.entries(clusters).map(([name, cluster]) => plane.addCluster(name, cluster)),
  ])
}

async function startNodes(plane: ControlPlane, options: NodesOptions): Promise<void> {
  await writeKwokConfig(plane.dir, options)
  await Promise.all([plane.start('kube-scheduler'), plane.start('kwok'), createNodes(plane.api, options.names)])
  await eventually('all nodes are ready', async () => {
    const nodes = await plane.listJson('nodes')
    return nodes.every(({ spec }) => !(spec as { taints?: Taint[] }).taints?.length)
  })
}

async function installCrds(plane: ControlPlane, folder: string): Promise<void> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.yaml'))
  const crds = await Promise.all(files.map(async (file) => objectsOf(await readFile(join(folder, file), 'utf8'))))
  await Promise.all(
    crds.flat().map(async (crd) => {
      await plane.api.apply(crd)
      await eventually(`${crd.metadata.name} is established`, async () => {
        const found = await plane.getJson('crd', crd.metadata.name)
        return found && isEstablished(found)
      })
    }),
  )
}

function isEstablished(crd: KubeObject): boolean {
  const { conditions = [] } = (crd['status'] ?? {}) as { conditions?: { type: string; status: string }[] }
  return conditions.some(({ type, status }) => type === 'Established' && status === 'True')
}

function namespace(name: string): KubeObject {
  return { apiVersion: 'v1', kind: 'Namespace', metadata: { name } }
}

function objectsOf(manifests: Manifests): KubeObject[] {
  if (typeof manifests !== 'string') return Array.isArray(manifests) ? manifests : [manifests]
  return parseAllDocuments(manifests)
    .map((document) => document.toJS() as KubeObject | null)
    .filter((object) => object !== null)
}

// Not simply appended: of a flag that is a list both would count.
function withFlags(flags: string[], given: string[]): string[] {
  const nameOf = (flag: string) => flag.split('=')[0]
  const replaced = new Set(given.map(nameOf))
  return [...flags.filter((flag) => !replaced.has(nameOf(flag))), ...given]
}

function sameTaint(one: Taint, other: Taint): boolean {
  return one.key === other.key && one.effect === other.effect
}

async function allocatePorts(): Promise<ComponentContext['ports']> {
  const names = [
    ...kubernetesComponents,
    ...controllersComponents,
    ...nodesComponents,
    ...karmadaComponents,
    'etcd-peer',
  ] as const
  const ports = await freePorts(names.length)
  return Object.fromEntries(names.map((name, index) => [name, ports[index]])) as ComponentContext['ports']
}
