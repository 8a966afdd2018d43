// Runs the shell blocks of the pages as a new user with the package alone, on real API servers with the real helm.
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { VolumeManager } from '../../src/api/volume-manager.ts'
import { installPackage } from '../installed-package.ts'
import { type BlockName, findBlock, nameOf } from '../shell-blocks.ts'
import type { KubeObject } from './api-client.ts'
import { startBalancer } from './balancer.ts'
import {
  ensureCertManager,
  ensureDefinitions,
  ensureHelm,
  ensureJq,
  ensureKubernetesBinaries,
  ensureWorkloadDefinitions,
} from './binaries.ts'
import { namespace } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type DeployedPod, deployedValues, rootOf, startDeployed, tlsSecret } from './deployed.ts'
import { type BindingObject, bindings } from './hub.ts'
import { logToStderr } from './log.ts'
import type { SpecObject } from './manifests.ts'
import { memberClusters } from './member-clusters.ts'
import { lodestoneCommand, startMoverKubelet } from './mover-kubelet.ts'
import { startIceberg } from './peers/iceberg.ts'
import { orSkip } from './peers/runtimes.ts'
import { startS3 } from './peers/s3.ts'
import { runCommand, startProcess } from './processes.ts'
import { HUB, MEMBER } from './walked-blocks.ts'

// What differs on this machine, with the text that takes its place. `undefined` stands for a value of the walk.
const SUBSTITUTIONS = {
  'npm pack && npm install --global lodestone-*.tgz': 'command -v lodestone', // installPackage did it, without a registry
  '--set image.registry=registry.example.org': undefined, // with the values of the harness: addresses and a certificate
  'https://10.0.0.7:9443': undefined, // the balancer, in place of the Service
  '--kubeconfig hub.config': '--kubeconfig "$KUBECONFIG"',
  'https://s3.example.org': undefined,
  'HOST:9443': undefined,
  // With the certificate of the harness.
  "'systemSecrets={lake}'": "'systemSecrets={tls,lake}'",
  'awsAccessKeyID=…': undefined,
  'awsSecretAccessKey=…': undefined,
  ' -o wide --watch': ' -o wide', // it runs until it is stopped
  // Its Jobs need a kubelet: chart-uninstall has them. The walk runs the command of the second one.
  'helm uninstall lodestone -n lodestone-system': 'helm uninstall lodestone -n lodestone-system --no-hooks',
}
type Substitution = keyof typeof SUBSTITUTIONS

// A user repeats a command that shows what is not there yet.
const READS = /^(kubectl( -n \S+)? (get|describe) |lodestone (explain|status|check-install) |curl )/
const patienceMs = 300_000

test('the blocks have every text that the walks replace', () => {
  const text = [...Object.values(HUB), ...Object.values(MEMBER)].flatMap((name) => findBlock(name).commands).join('\n')
  expect(Object.keys(SUBSTITUTIONS).filter((part) => !text.includes(part))).toEqual([])
})

interface Walk {
  // Runs a block. A hook runs after the first command that begins with its key, beside the next ones.
  run(name: BlockName, hooks?: Record<string, () => Promise<unknown>>): Promise<void>
  // Runs a command that is not on a page.
  command(text: string): Promise<unknown>
  // What the last run of a command printed.
  printed(begin: string): string
  report(): void
}

async function startWalk(
  clusters: Record<string, ControlPlane>,
  values: object,
  given: Partial<Record<Substitution, string>>,
  examples: Record<string, string>,
): Promise<Walk> {
  const home = await mkdtemp(join(tmpdir(), 'lodestone-walk-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const folder = await installPackage(home)
  // As `npm root --global` prints it.
  await mkdir(join(home, 'lib', 'node_modules'))
  await symlink(folder, join(home, 'lib', 'node_modules', 'lodestone'))
  await replaceInExamples(folder, examples)
  await mkdir(join(home, 'programs'))
  const { kubectl } = await ensureKubernetesBinaries()
  await symlink(kubectl, join(home, 'programs', 'kubectl'))
  await symlink(await ensureHelm(), join(home, 'programs', 'helm'))
  await symlink(await ensureJq(), join(home, 'programs', 'jq'))
  const kubeconfig = join(home, 'kubeconfig')
  await writeFile(kubeconfig, stringify(await contextsOf(clusters)), { mode: 0o600 })
  await writeFile(join(home, 'values.yaml'), stringify(values))
  const path = [join(home, 'bin'), join(home, 'programs'), dirname(process.execPath), process.env['PATH']]
  const env = { PATH: path.join(delimiter), HOME: home, KUBECONFIG: kubeconfig, NPM_CONFIG_PREFIX: home }
  const replaced = {
    ...SUBSTITUTIONS,
    '--set image.registry=registry.example.org': `--set image.registry=registry.example.org --values ${home}/values.yaml`,
    ...given,
  }
  let cwd = join(home, 'empty')
  await mkdir(cwd)
  const outputs: { command: string; stdout: string }[] = []
  const parts: { block: string; commands: number; seconds: number }[] = []

  async function runOnce(command: string): Promise<boolean> {
    const script = `set -o pipefail\n${command}\nstatus=$?\npwd > ${home}/cwd\nexit $status`
    const { code, stdout, stderr } = await runCommand('bash', ['-c', script], { cwd, env, timeoutMs: patienceMs })
    if (code !== 0) throw new Error(`${command}\nended with ${code}: ${stderr}${stdout}`)
    cwd = (await readFile(join(home, 'cwd'), 'utf8')).trim()
    outputs.push({ command, stdout })
    return true
  }

  return {
    async run(name, hooks = {}) {
      const block = findBlock(name)
      const startedAt = performance.now()
      const beside: Promise<unknown>[] = []
      for (const written of block.commands) {
        const command = Object.entries(replaced).reduce(
          (text, [from, to]) => text.replaceAll(from, to ?? from),
          written,
        )
        const [plane] = Object.values(clusters)
        if (READS.test(command)) await plane?.eventually(command, () => runOnce(command), patienceMs, 1_000)
        else await runOnce(command)
        for (const [begin, hook] of Object.entries(hooks)) if (written.startsWith(begin)) beside.push(hook())
        // A kubelet has stopped the pod before the user continues.
        if (written.startsWith('helm uninstall')) await Promise.all(beside)
      }
      await Promise.all(beside)
      const seconds = (performance.now() - startedAt) / 1000
      parts.push({ block: nameOf(block).replace(/\n.*/s, ''), commands: block.commands.length, seconds })
    },
    command: runOnce,
    printed: (begin) => outputs.findLast(({ command }) => command.startsWith(begin))?.stdout ?? '',
    report() {
      const total = parts.reduce((sum, { seconds }) => sum + seconds, 0)
      for (const { block, commands, seconds } of [
        ...parts,
        { block: 'total', commands: outputs.length, seconds: total },
      ])
        logToStderr(`${seconds.toFixed(1).padStart(6)} s ${String(commands).padStart(3)} commands  ${block}`)
    },
  }
}

/** Replaces texts in the manifests of the package, as the pages tell users to do. */
async function replaceInExamples(folder: string, texts: Record<string, string>): Promise<void> {
  for await (const path of glob('examples/**/*.yaml', { cwd: folder })) {
    const file = join(folder, path)
    let content = await readFile(file, 'utf8')
    for (const [from, to] of Object.entries(texts)) content = content.replaceAll(from, to)
    await writeFile(file, content)
  }
}

/** Returns a kubeconfig with a context for each cluster; the first one is the current one. */
async function contextsOf(clusters: Record<string, ControlPlane>): Promise<object> {
  const entries = await Promise.all(
    Object.entries(clusters).map(async ([name, plane]) => ({
      name,
      own: parse(await readFile(plane.kubeconfig, 'utf8')),
    })),
  )
  return {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': entries[0]?.name,
    clusters: entries.map(({ name, own }) => ({ name, cluster: own.clusters[0].cluster })),
    users: entries.map(({ name, own }) => ({ name, user: own.users[0].user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  }
}

/** Starts the pod of a Deployment, when helm has created it, with the certificate that its values name. */
function kubeletOf(plane: ControlPlane, balancer: Awaited<ReturnType<typeof startBalancer>>) {
  const pods: DeployedPod[] = []
  const nameOf = (index: number) => `lodestone-${index}`
  return {
    nameOf,
    async start() {
      await plane.apply(await tlsSecret(plane))
      const name = nameOf(pods.length)
      pods.push(await startDeployed(plane, balancer, { name, entry: lodestoneCommand[1] ?? '' }))
      await pods.at(-2)?.stop()
    },
    stop: async () => pods.at(-1)?.stop(),
  }
}

/** A hub with its host cluster, and the walk through both. `examples` are texts of manifests that are replaced. */
async function startHub() {
  const served = { 'ray.io/v1': { rayjobs: 'RayJob' } }
  const clusters = Object.entries(memberClusters).map(([name, member]) => [name, { ...member, apis: served }])
  const [hub, host] = await Promise.all([
    startControlPlane({ clusters: Object.fromEntries(clusters) }),
    startControlPlane({ karmada: false }),
  ])
  onTestFinished(async () => void (await Promise.all([hub.stopAll(), host.stopAll()])))
  const balancer = await startBalancer()
  host.onStop(() => balancer.stop())
  const { registration, systemSecrets, config } = deployedValues(balancer)
  const { server, certificates } = config
  // The Lease of pods is in the host cluster, which a process of this machine does not find.
  const alone = { replicaCount: 1, podDisruptionBudget: { enabled: false } }
  const values = {
    ...alone,
    registration,
    systemSecrets,
    config: { server, certificates, leaderElection: { enabled: false } },
  }
  const binding = async (name: string, of: string) =>
    (await hub.getJson(bindings, name, of)) as BindingObject | undefined
  return {
    hub,
    host,
    binding,
    kubelet: kubeletOf(host, balancer),
    walkWith: (examples: Record<string, string> = {}) =>
      startWalk({ hub, host }, values, { 'https://10.0.0.7:9443': registration.url }, examples),
    clustersOf: async (name: string, of: string) =>
      (await binding(name, of))?.spec.clusters?.map((cluster) => cluster.name).join(),
    /** Waits until objects are in a member: Karmada wrote them into Works. */
    areIn: (member: string, names: string[]) =>
      hub.eventually(`${names} are in ${member}`, async () => {
        const works = JSON.stringify(await hub.listJson('works.work.karmada.io', `karmada-es-${member}`))
        return names.every((name) => works.includes(`"${name}"`))
      }),
  }
}

test('a hub: three commands install Lodestone, and a workload is placed with its data', async () => {
  const { hub, host, kubelet, binding, clustersOf, areIn, walkWith } = await startHub()
  const walk = await walkWith()
  const definitions = await ensureWorkloadDefinitions()
  await hub.kubectl(['apply', '--server-side', '-f', join(definitions, 'kuberay', 'ray.io_rayjobs.yaml')])
  const clusters = () => clustersOf('trainer-deployment', 'demo')

  await walk.run(HUB.install)
  await walk.run(HUB.plugin)
  await walk.run(HUB.begin)
  await walk.run(HUB.state)
  expect(walk.printed('lodestone explain deployment/trainer')).toBe('Narrowed\n')
  await walk.run(HUB.helm, { 'helm install lodestone charts/lodestone --kube-context host': kubelet.start })
  expect(findBlock(HUB.helm).commands.length).toBeLessThanOrEqual(3)
  await walk.run(HUB.check)
  await walk.run(HUB.status)

  await walk.run(HUB.hold)
  await hub.eventually('the workload is on hold', async () => {
    const { annotations } = (await binding('trainer-deployment', 'demo'))?.metadata ?? {}
    return annotations?.['lodestone.dev/hold']?.includes('no DataSource for amoro table')
  })
  expect(await clusters()).toBeUndefined()
  await walk.run(HUB.held)
  expect(walk.printed('kubectl get rb -A')).toContain('demo/trainer-deployment')
  await walk.run(HUB.reasons)
  expect(walk.printed('lodestone status --held')).toBe('demo\ttrainer\tUnresolved\n')
  await walk.run(HUB.events)
  expect(walk.printed('kubectl get events -A')).toContain('LocalityHold')
  await walk.run(HUB.data)
  await hub.eventually('the workload is where its data is', async () => (await clusters()) === 'member2')
  await walk.run(HUB.enforce)
  await walk.run(HUB.dependencies)
  await areIn('member2', ['trainer-settings'])
  await walk.run(HUB.report)
  await walk.run(HUB.table)
  await hub.eventually('the report is in one cluster with its table', async () =>
    /^member[12]$/.test((await clustersOf('report-cronjob', 'sales')) ?? ''),
  )
  await walk.run(HUB.ray)
  await hub.eventually(
    'the RayJob is where its frames are',
    async () => (await clustersOf('train-rayjob', 'vision')) === 'member3',
  )
  await areIn('member3', ['train-settings', 'bucket-credentials'])
  await walk.run(HUB.renewal)
  await walk.run(HUB.url)
  expect(walk.printed('curl')).toContain('"status":405')

  const absence = () => hub.getJson('validatingadmissionpolicybindings', 'lodestone-decided-bindings')
  expect(await absence()).toBeDefined()
  await walk.run(HUB.unprotected)
  expect(await absence()).toBeUndefined()

  await walk.run(HUB.upgrade, { 'helm upgrade lodestone charts/lodestone --kube-context host': kubelet.start })
  expect(await absence()).toBeDefined()
  expect(await clusters()).toBe('member2')
  await walk.run(HUB.uninstall, { 'helm uninstall lodestone --kube-context host': kubelet.stop })
  expect(walk.printed('lodestone check-install --context hub --gone')).toContain('nothing of Lodestone is left')
  expect(await clusters()).toBe('member2')
  expect(await host.getJson('secrets', 'lodestone-hub', namespace)).toBeUndefined()
  walk.report()
}, 1_500_000)

test('a hub with a catalog: a report is placed where its table is, and moves with it', async (context) => {
  const { hub, host, kubelet, clustersOf, walkWith } = await startHub()
  const iceberg = await orSkip(context, startIceberg(hub.dir))
  hub.onStop(() => iceberg.stop())
  await iceberg.createNamespace(['sales'])
  await iceberg.createTable(['sales'], 'orders', { location: 's3://lake-eu/sales/orders' })
  const walk = await walkWith({
    'https://catalog.example.org': iceberg.url,
    // The files of the pod after the upgrade.
    '/etc/lodestone-secrets': join(rootOf(host, kubelet.nameOf(1)), 'etc', 'lodestone-secrets'),
  })
  const report = () => clustersOf('report-cronjob', 'sales')

  await walk.run(HUB.install)
  await walk.run(HUB.begin)
  await walk.run(HUB.helm, { 'helm install lodestone charts/lodestone --kube-context host': kubelet.start })
  await walk.command('printf secret > token')
  await walk.run(HUB.catalog, { 'helm upgrade lodestone charts/lodestone --kube-context host': kubelet.start })
  await walk.run(HUB.report)
  await hub.eventually('the report is in one cluster with its table', async () =>
    /^member[12]$/.test((await report()) ?? ''),
  )

  await iceberg.moveTable(['sales'], 'orders', 's3://lake-us/sales/orders')
  // Lodestone queries the catalog again now, and not after five minutes.
  await walk.command('kubectl delete datasource lake-table-sales.orders')
  await hub.eventually('the report moves with its table', async () => (await report()) === 'member3')
  walk.report()
}, 1_500_000)

test('a member: one command installs Lodestone, and a pod has its data', async () => {
  const nodes = { names: ['node-1', 'node-2', 'node-3'], movers: 'left alone' as const }
  const plane = await startControlPlane({ karmada: false, nodes })
  onTestFinished(() => plane.stopAll())
  const balancer = await startBalancer()
  plane.onStop(() => balancer.stop())
  const s3 = await startS3(plane.dir, { region: 'us-east-1' })
  plane.onStop(() => s3.stop())
  await s3.createBucket('datasets')
  await s3.putObject('datasets', 'mnist/images.bin', 'pixels')
  await s3.putObject('datasets', 'frames/0.bin', 'pixels')
  await s3.createBucket('models')
  await s3.putObject('models', 'llama-3.1-8b/weights.bin', 'weights')
  const images = ['0.1.0', '0.2.0'].map((tag) => [`registry.example.org/lodestone:${tag}`, lodestoneCommand])
  await startMoverKubelet(plane, { images: Object.fromEntries(images) })
  const own = deployedValues(balancer)
  const served = `127.0.0.1:${balancer.port}`
  // The S3 server is on this machine, whose disk may have little space.
  const volumes = { allowedLocalNetworks: ['127.0.0.0/8'], movers: { keepFree: '1Mi' } }
  const walk = await startWalk(
    { member: plane },
    { ...own, config: { ...own.config, volumes } },
    {
      'https://s3.example.org': s3.url,
      'awsAccessKeyID=…': `awsAccessKeyID=${s3.accessKey}`,
      'awsSecretAccessKey=…': `awsSecretAccessKey=${s3.secretKey}`,
      'HOST:9443': served,
    },
    { 'https://s3.example.org': s3.url },
  )
  const [definitions, ofWorkloads] = [await ensureDefinitions(), await ensureWorkloadDefinitions()]
  const crds = [
    join(ofWorkloads, 'kserve', 'serving.kserve.io_inferenceservices.yaml'),
    join(ofWorkloads, 'lws', 'leaderworkerset.x-k8s.io_leaderworkersets.yaml'),
    join(definitions, 'prometheus-operator', 'monitoring.coreos.com_prometheusrules.yaml'),
    join(definitions, 'cert-manager'),
  ]
  await plane.kubectl(['apply', '--server-side', ...crds.flatMap((path) => ['-f', path])])
  await plane.crdsEstablished()
  const kubelet = kubeletOf(plane, balancer)
  const podsOf = async (app: string, of = 'default') =>
    ((await plane.listJson('pods', of)) as unknown as PodOfServer[]).filter(
      ({ metadata, status }) => metadata.labels?.['app'] === app && status?.phase === 'Running',
    )
  const manager = async (name = 'mnist', of = 'default') =>
    (await plane.getJson('volumemanagers', name, of)) as unknown as VolumeManager | undefined
  const isRunning = (name: string, of: string) => () =>
    manager(name, of).then((one) => one?.status?.state === 'Running')

  await walk.run(MEMBER.begin)
  await walk.run(MEMBER.helm, { 'helm install': kubelet.start })
  await walk.run(MEMBER.certificate)
  expect(walk.printed(`openssl s_client -connect ${served} -servername`)).toContain('IP Address:127.0.0.1')
  expect(walk.printed(`openssl s_client -connect ${served} -CAfile`)).toContain('Verify return code: 0 (ok)')
  await startCertManager(plane)
  await walk.run(MEMBER.certManager)
  const { data } = (await plane.getJson('secrets', 'lodestone-tls', namespace)) as unknown as Secret
  const [ca = '', certificate = '', key = ''] = ['ca.crt', 'tls.crt', 'tls.key'].map((file) =>
    Buffer.from(data[file] ?? '', 'base64').toString(),
  )
  const issued = new X509Certificate(certificate)
  expect(issued.checkHost('lodestone.lodestone-system.svc')).toBeDefined()
  expect(issued.checkPrivateKey(createPrivateKey(key))).toBe(true)
  expect(issued.verify(new X509Certificate(ca).publicKey)).toBe(true)
  await walk.run(MEMBER.data)
  await plane.eventually('the data is on two nodes', isRunning('mnist', 'default'))
  await walk.run(MEMBER.use)
  const withData = (await manager())?.status?.volumes?.[0]?.replicas?.map(({ node }) => node).sort()
  expect(withData).toHaveLength(2)
  await plane.eventually('its pods run on the nodes with the data', async () => {
    const running = await podsOf('trainer')
    expect(running.map(({ spec }) => withData?.includes(spec.nodeName ?? ''))).toEqual([true, true])
    expect(running[0]?.spec.containers[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: '/data' }))
    return true
  })
  await walk.run(MEMBER.upgrade, { 'helm upgrade': kubelet.start })
  await walk.run(MEMBER.alerts)
  const { spec: alerts } = (await plane.getJson('prometheusrules', 'lodestone', namespace)) as SpecObject
  expect(JSON.stringify(alerts)).toContain('LodestoneNoLeader')
  await walk.command('kubectl annotate deployment trainer lodestone.dev/volumes-')
  const copy = { 'lodestone.dev/volumes': '{"name": "mnist", "mount-path": "/data"}' }
  const patch = JSON.stringify({ spec: { template: { metadata: { annotations: copy } } } })
  await walk.command(`kubectl patch deployment trainer -p '${patch}'`)
  await walk.run(MEMBER.copy)
  const { template } = ((await plane.getJson('deployments', 'trainer', 'default')) as SpecObject).spec
  expect(template).toMatchObject({ metadata: { labels: { app: 'trainer' } } })
  expect(template).not.toHaveProperty('metadata.annotations')
  await walk.run(MEMBER.delete)
  expect(await manager()).toBeUndefined()

  await walk.run(MEMBER.bucket)
  await plane.eventually('the frames are on two nodes', isRunning('frames', 'vision'))
  await walk.run(MEMBER.refresh)
  await walk.run(MEMBER.empty)
  expect(await manager('frames', 'vision')).toBeUndefined()
  await walk.run(MEMBER.model)
  await plane.eventually('the model is on both nodes of its pool', async () => {
    const replicas = (await manager('llama', 'serving'))?.status?.volumes?.[0]?.replicas ?? []
    return (
      replicas
        .filter(({ state }) => state === 'Ready')
        .map(({ node }) => node)
        .sort()
        .join() === 'node-1,node-2'
    )
  })
  await walk.run(MEMBER.servers)
  await serveModel(plane)
  await walk.command('kubectl -n serving delete pod,vmgr,isvc,lws --all')

  await walk.command('lodestone uninstall --yes --keep-data')
  await walk.run(MEMBER.again)
  await walk.run(MEMBER.uninstall, {
    'helm uninstall': async () => {
      await kubelet.stop()
      await walk.command('lodestone uninstall --yes --keep-data')
    },
  })
  expect(walk.printed('lodestone check-install --gone')).toContain('nothing of Lodestone is left')
  walk.report()
}, 1_500_000)

/**
 * Creates the pod that KServe creates for the InferenceService: its pods have the labels, annotations, selector and containers of the
 * predictor. KServe adds a container of its own.
 */
async function serveModel(plane: ControlPlane): Promise<void> {
  const volumes = '{"name": "llama", "mount-path": "/mnt/models", "containers": [{"name": "kserve-container"}]}'
  const service = await plane.getJson('inferenceservices.serving.kserve.io', 'llama', 'serving')
  const { predictor } = (service as SpecObject).spec as { predictor: Predictor }
  expect(predictor).toMatchObject({
    labels: { 'lodestone.dev/inject': 'true' },
    annotations: { 'lodestone.dev/volumes': volumes },
  })
  const workers = (await plane.getJson('leaderworkersets', 'llama-70b', 'serving')) as SpecObject
  expect(JSON.stringify(workers.spec).split('"lodestone.dev/inject":"true"')).toHaveLength(3)

  const { labels, annotations, nodeSelector, containers } = predictor
  // The nodes have no GPU.
  const own = containers.map(({ resources: _, ...container }) => container)
  await plane.apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'llama-predictor', namespace: 'serving', labels, annotations },
    spec: { nodeSelector, containers: [...own, { name: 'queue-proxy', image: 'queue:1' }] },
  } as KubeObject)
  await plane.eventually('the server runs on the node of its GPU, with the model', async () => {
    const pod = (await plane.getJson('pods', 'llama-predictor', 'serving')) as unknown as PodOfServer
    expect(pod.status?.phase).toBe('Running')
    expect(pod.spec.nodeName).toBe('node-1')
    expect(pod.spec.containers.map(({ volumeMounts = [] }) => volumeMounts)).toEqual([
      [expect.objectContaining({ mountPath: '/mnt/models', readOnly: true })],
      [],
    ])
    return true
  })
}

/** Starts the controllers of cert-manager, with the rights of an administrator. */
async function startCertManager(plane: ControlPlane): Promise<void> {
  const running = await startProcess({
    name: 'cert-manager',
    command: await ensureCertManager(),
    args: [],
    cwd: plane.dir,
    env: { KUBECONFIG: plane.kubeconfig, HOME: plane.dir },
    logFile: plane.logFile('cert-manager'),
    ready: async () => true,
  })
  plane.onStop(() => running.stop())
}

interface Secret {
  data: Record<string, string>
}

interface Predictor {
  labels: Record<string, string>
  annotations: Record<string, string>
  nodeSelector: Record<string, string>
  containers: { name: string; image: string; resources?: object }[]
}

interface PodOfServer {
  metadata: { labels?: Record<string, string> }
  spec: { nodeName?: string; containers: { volumeMounts?: object[] }[] }
  status?: { phase?: string }
}
