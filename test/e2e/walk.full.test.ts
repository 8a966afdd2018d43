// Runs the shell blocks of the pages as a new user with the package alone, on real API servers with the real helm.
import { glob, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { parse, stringify } from 'yaml'
import type { VolumeManager } from '../../src/api/volume-manager.ts'
import { installPackage } from '../installed-package.ts'
import { type BlockName, findBlock, nameOf } from '../shell-blocks.ts'
import { startBalancer } from './balancer.ts'
import { ensureHelm, ensureKubernetesBinaries, logToStderr } from './binaries.ts'
import { namespace } from './chart.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { type DeployedPod, deployedValues, startDeployed, tlsSecret } from './deployed.ts'
import { type BindingObject, bindings } from './hub.ts'
import { lodestoneCommand, startMoverKubelet } from './mover-kubelet.ts'
import { startS3 } from './peers/s3.ts'
import { runCommand } from './processes.ts'
import { HUB, MEMBER } from './walked-blocks.ts'

// What differs on this machine, with the text that takes its place. `undefined` stands for a value of the walk.
const SUBSTITUTIONS = {
  'npm pack && npm install --global lodestone-*.tgz': 'command -v lodestone', // installPackage did it, without a registry
  '--set image.registry=registry.example.org': undefined, // with the values of the harness: addresses and a certificate
  'https://10.0.0.7:9443': undefined, // the balancer, in place of the Service
  '--kubeconfig hub.config': '--kubeconfig "$KUBECONFIG"',
  'https://s3.example.org': undefined,
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
): Promise<Walk> {
  const home = await mkdtemp(join(tmpdir(), 'lodestone-walk-'))
  onTestFinished(() => rm(home, { recursive: true, force: true }))
  const folder = await installPackage(home)
  // As `npm root --global` prints it.
  await mkdir(join(home, 'lib', 'node_modules'))
  await symlink(folder, join(home, 'lib', 'node_modules', 'lodestone'))
  const s3Url = given['https://s3.example.org']
  if (s3Url !== undefined) await replaceInExamples(folder, 'https://s3.example.org', s3Url)
  await mkdir(join(home, 'programs'))
  const { kubectl } = await ensureKubernetesBinaries()
  await symlink(kubectl, join(home, 'programs', 'kubectl'))
  await symlink(await ensureHelm(), join(home, 'programs', 'helm'))
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

/** Manifests of the package name the same server as the pages. */
async function replaceInExamples(folder: string, from: string, to: string): Promise<void> {
  for await (const path of glob('examples/**/*.yaml', { cwd: folder })) {
    const file = join(folder, path)
    await writeFile(file, (await readFile(file, 'utf8')).replaceAll(from, to))
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
    ...{ apiVersion: 'v1', kind: 'Config', 'current-context': entries[0]?.name },
    clusters: entries.map(({ name, own }) => ({ name, cluster: own.clusters[0].cluster })),
    users: entries.map(({ name, own }) => ({ name, user: own.users[0].user })),
    contexts: entries.map(({ name }) => ({ name, context: { cluster: name, user: name } })),
  }
}

/** Starts the pod of a Deployment, when helm has created it, with the certificate that its values name. */
function kubeletOf(plane: ControlPlane, balancer: Awaited<ReturnType<typeof startBalancer>>) {
  const pods: DeployedPod[] = []
  return {
    async start() {
      await plane.apply(await tlsSecret(plane))
      const name = `lodestone-${pods.length}`
      pods.push(await startDeployed(plane, balancer, { name, entry: lodestoneCommand[1] ?? '' }))
      await pods.at(-2)?.stop()
    },
    stop: async () => pods.at(-1)?.stop(),
  }
}

test('a hub: three commands install Lodestone, and a workload is placed where its data is', async () => {
  const [hub, host] = await Promise.all([startControlPlane(), startControlPlane({ karmada: false })])
  onTestFinished(async () => void (await Promise.all([hub.stopAll(), host.stopAll()])))
  const balancer = await startBalancer()
  host.onStop(() => balancer.stop())
  const { registration, systemSecrets, config } = deployedValues(balancer)
  const { server, certificates } = config
  // The Lease of pods is in the host cluster, which a process of this machine does not find.
  const alone = { replicaCount: 1, podDisruptionBudget: { enabled: false } }
  const values = {
    ...{ ...alone, registration, systemSecrets },
    config: { server, certificates, leaderElection: { enabled: false } },
  }
  const walk = await startWalk({ hub, host }, values, { 'https://10.0.0.7:9443': registration.url })
  const kubelet = kubeletOf(host, balancer)
  const binding = async () => (await hub.getJson(bindings, 'trainer-deployment', 'demo')) as BindingObject | undefined
  const clusters = async () => (await binding())?.spec.clusters?.map(({ name }) => name)

  await walk.run(HUB.install)
  await walk.run(HUB.plugin)
  await walk.run(HUB.begin)
  await walk.run(HUB.helm, { 'helm install lodestone charts/lodestone --kube-context host': kubelet.start })
  expect(findBlock(HUB.helm).commands.length).toBeLessThanOrEqual(3)
  await walk.run(HUB.check)
  await walk.run(HUB.status)

  await walk.run(HUB.hold)
  await hub.eventually('the workload is on hold', async () => {
    return (await binding())?.metadata.annotations?.['lodestone.dev/hold']?.includes('no DataSource for amoro table')
  })
  expect(await clusters()).toBeUndefined()
  await walk.run(HUB.held)
  expect(walk.printed('kubectl get rb -A')).toContain('demo/trainer-deployment')
  await walk.run(HUB.events)
  expect(walk.printed('kubectl get events -A')).toContain('LocalityHold')
  await walk.run(HUB.data)
  await hub.eventually('the workload is where its data is', async () => (await clusters())?.join() === 'member2')
  await walk.run(HUB.enforce)
  await walk.run(HUB.dependencies)
  await hub.eventually('its ConfigMap is there too', () =>
    hub
      .getJson('works.work.karmada.io', 'trainer-settings', 'karmada-es-member2')
      .then(
        async (found) =>
          found ??
          JSON.stringify(await hub.listJson('works.work.karmada.io', 'karmada-es-member2')).includes(
            '"trainer-settings"',
          ),
      ),
  )
  await walk.run(HUB.iceberg)
  await hub.eventually('the report is in one cluster with its table', async () => {
    const report = (await hub.getJson(bindings, 'report-cronjob', 'sales')) as BindingObject | undefined
    return /^member[12]$/.test(report?.spec.clusters?.map(({ name }) => name).join() ?? '')
  })
  await walk.run(HUB.renewal)
  await walk.run(HUB.url)
  expect(walk.printed('curl')).toContain('"status":405')

  await walk.run(HUB.upgrade, { 'helm upgrade lodestone charts/lodestone --kube-context host': kubelet.start })
  expect(await clusters()).toEqual(['member2'])
  await walk.run(HUB.uninstall, { 'helm uninstall lodestone --kube-context host': kubelet.stop })
  expect(walk.printed('lodestone check-install --context hub --gone')).toContain('nothing of Lodestone is left')
  expect(await clusters()).toEqual(['member2'])
  expect(await host.getJson('secrets', 'lodestone-hub', namespace)).toBeUndefined()
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
  // The S3 server is on this machine, whose disk may have little space.
  const volumes = { allowedLocalNetworks: ['127.0.0.0/8'], movers: { keepFree: '1Mi' } }
  const walk = await startWalk(
    { member: plane },
    { ...own, config: { ...own.config, volumes } },
    {
      'https://s3.example.org': s3.url,
      'awsAccessKeyID=…': `awsAccessKeyID=${s3.accessKey}`,
      'awsSecretAccessKey=…': `awsSecretAccessKey=${s3.secretKey}`,
    },
  )
  const kubelet = kubeletOf(plane, balancer)
  const manager = async (name = 'mnist', of = 'default') =>
    (await plane.getJson('volumemanagers', name, of)) as unknown as VolumeManager | undefined
  const isRunning = (name: string, of: string) => () =>
    manager(name, of).then((one) => one?.status?.state === 'Running')

  await walk.run(MEMBER.begin)
  await walk.run(MEMBER.helm, { 'helm install': kubelet.start })
  await walk.run(MEMBER.data)
  await plane.eventually('the data is on two nodes', isRunning('mnist', 'default'))
  await walk.run(MEMBER.use)
  const withData = (await manager())?.status?.volumes?.[0]?.replicas?.map(({ node }) => node).sort()
  expect(withData).toHaveLength(2)
  await plane.eventually('its pods run on the nodes with the data', async () => {
    const pods = (await plane.listJson('pods', 'default')) as unknown as PodOfTrainer[]
    const running = pods.filter(
      ({ metadata, status }) => metadata.labels?.['app'] === 'trainer' && status?.phase === 'Running',
    )
    expect(running.map(({ spec }) => withData?.includes(spec.nodeName ?? ''))).toEqual([true, true])
    expect(running[0]?.spec.containers[0]?.volumeMounts).toContainEqual(expect.objectContaining({ mountPath: '/data' }))
    return true
  })
  await walk.run(MEMBER.upgrade, { 'helm upgrade': kubelet.start })
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
  await walk.command('kubectl -n serving delete vmgr llama')
  await walk.run(MEMBER.uninstall, {
    'helm uninstall': async () => {
      await kubelet.stop()
      await walk.command('lodestone uninstall --yes --keep-data')
    },
  })
  expect(walk.printed('lodestone check-install --gone')).toContain('nothing of Lodestone is left')
  walk.report()
}, 1_500_000)

interface PodOfTrainer {
  metadata: { labels?: Record<string, string> }
  spec: { nodeName?: string; containers: { volumeMounts?: object[] }[] }
  status?: { phase?: string }
}
