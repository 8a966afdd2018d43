// `lodestone uninstall` in other orders than uninstall.e2e.test.ts: after Lodestone was killed, after the CRDs were deleted, and with the data.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { KubeObject } from './api-client.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { claim, configMap, deployment, policy, source } from './manifests.ts'
import { publicVolume, volumeManagerOf } from './member.ts'
import { diskPressure } from './nodes.ts'
import { installUninstaller, mentions, type Uninstaller } from './uninstall.ts'

const election = { leaderElection: { enabled: true } }
const gone = { code: 0, stderr: '', stdout: expect.stringContaining('nothing of Lodestone is left') }

describe('on a hub', () => {
  let plane: ControlPlane
  let hub: Hub
  let uninstaller: Uninstaller
  let lodestone: Lodestone

  beforeAll(async () => {
    plane = await startControlPlane({ garbageCollector: true })
    hub = hubOn(plane)
    const kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
    lodestone = await startLodestone(plane, { kubeconfig, config: election })
    // From now on, writes fail while Lodestone does not answer.
    await plane.kubectl(['label', 'namespace', 'default', 'lodestone.dev/enforce=true'])
  })
  afterAll(() => plane?.stopAll())

  test('nothing is left after Lodestone was killed and the CRDs were deleted', async () => {
    const settings = configMap('placed-settings')
    await hub.apply(settings, source('placed-data', ['member2']), claim('placed', { data: 'placed-data' }))
    await hub.apply(policy('placed'), deployment('placed', { needs: [settings] }))
    await hub.apply(claim('waiting', { data: 'unknown-data' }), policy('waiting'), deployment('waiting'))
    await hub.isOnlyIn(deployment('placed'), 'member2')
    await plane.eventually('the other is on hold', async () =>
      (await plane.kubectl(['get', bindings, '-A', '-o', 'yaml'])).stdout.includes('lodestone.dev/hold'),
    )
    await lodestone.kill()
    const definitions = ['datasourceclaims', 'datasources'].map((plural) => `${plural}.datadependency.volcano.sh`)
    await plane.kubectl(['delete', 'crd', '--wait=false', ...definitions])
    const rejected = await plane.kubectl(['annotate', bindings, '--all', 'a=b'], { allowFailure: true })
    expect(rejected.stderr).toContain('failed calling webhook')

    expect(await uninstaller.uninstall('--yes', '--restore', '--crds')).toMatchObject({ code: 0, stderr: '' })
    expect(await uninstaller.checkGone()).toEqual(gone)
    await plane.kubectl(['label', 'namespace', 'default', 'lodestone.dev/enforce-'])
    expect(await mentions(plane)).toEqual([])
    expect((await plane.kubectl(['get', 'crd', '-o', 'name'])).stdout).not.toContain('datadependency')
    for (const name of ['placed', 'waiting']) await hub.isOnlyIn(deployment(name), 'member1,member2,member3')
  })
})

describe('in a cluster', () => {
  let plane: ControlPlane
  let uninstaller: Uninstaller

  beforeAll(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
  })
  afterAll(() => plane?.stopAll())

  test('a running Lodestone deletes the data, and without it the data is named', async () => {
    const first = await start('first')
    expect(await uninstaller.uninstall('--yes')).toMatchObject({ code: 0, stdout: expect.stringContaining('removed') })
    expect((await plane.listJson('volumemanagers.vck.intelai.org')).length).toBe(0)
    await first.stop()
    expect(await uninstaller.uninstall('--yes')).toEqual(gone)
    expect(await uninstaller.checkGone()).toEqual(gone)

    const second = await start('second')
    await second.kill()
    const refused = await uninstaller.uninstall('--yes')
    expect(refused.code).toBe(1)
    expect(refused.stderr).toMatch(
      /no replica of Lodestone leads, so the data cannot be deleted: node-\d:\/var\/datasets\//,
    )
    await plane.kubectl(['delete', 'crd', '--wait=false', 'volumemanagers.vck.intelai.org'])
    const done = await uninstaller.uninstall('--yes', '--keep-data')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toMatch(/kept: VolumeManager default\/mnist: data on node node-\d: \/var\/datasets\//)
    expect(await uninstaller.checkGone()).toEqual(gone)
    expect(await mentions(plane)).toEqual([])
  })

  /** Installs and starts Lodestone, and moves data to a node. */
  async function start(name: string): Promise<Lodestone> {
    const kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
    const lodestone = await startLodestone(plane, {
      name,
      kubeconfig,
      config: { volumes: { enabled: true }, ...election },
    })
    const options = { awsCredentialsSecretName: '', sourceURL: 's3://lake/train/' }
    const volume = {
      id: 'vol1',
      replicas: 1,
      sourceType: 'S3',
      accessMode: 'ReadWriteOnce',
      labels: { a: 'b' },
      options,
    }
    await plane.apply([volumeManagerOf('mnist', volume)])
    await plane.eventually('the data is on a node', async () => {
      const found = await plane.getJson('volumemanagers.vck.intelai.org', 'mnist', 'default')
      return (found as { status?: { state?: string } }).status?.state === 'Running'
    })
    return lodestone
  }
})

describe('in a namespace that is being deleted', () => {
  const volumes = { 'lodestone.dev/volumes': '{"name": "waiting", "mount-path": "/data"}' }
  const finalizers = ['example.com/busy']
  let plane: ControlPlane
  let uninstaller: Uninstaller

  beforeAll(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
    await diskPressure(plane, 'node-2', 'True')
  })
  afterAll(() => plane?.stopAll())

  test.each([
    { name: 'kept', args: ['--keep-data'], isKilled: false },
    { name: 'deleted', args: [], isKilled: false },
    { name: 'killed', args: ['--keep-data'], isKilled: true },
  ])('gated pods and volumes do not stop an uninstallation: $name', async ({ name, args, isKilled }) => {
    const kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
    const lodestone = await startLodestone(plane, {
      name,
      kubeconfig,
      config: { volumes: { enabled: true }, ...election },
    })
    const inNamespace = { namespace: name }
    await plane.apply({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } })
    await plane.apply([manager('waiting', 'node-2', name), manager('ready', 'node-1', name)])
    // The controllers of both keep the namespace: each has a finalizer that no program removes.
    await plane.apply([
      { ...configMap('busy', inNamespace), metadata: { name: 'busy', ...inNamespace, finalizers } },
      workload('Pod', 'busy', name, { finalizers }),
      workload('Pod', 'alone', name),
      workload('Deployment', 'server', name),
      workload('Job', 'batch', name),
    ])
    await plane.eventually('all pods wait at their gate, and data is on a node', async () => {
      const pods = await plane.listJson('pods', name)
      const isGated = (pod: KubeObject) => JSON.stringify(pod['spec']).includes('"name":"lodestone.dev/volumes"')
      const ready = await plane.getJson('volumemanagers.vck.intelai.org', 'ready', name)
      return pods.length === 4 && pods.every(isGated) && JSON.stringify(ready?.['status']).includes('"Running"')
    })

    if (isKilled) await lodestone.kill()
    await plane.kubectl(['delete', 'namespace', name, '--wait=false'])
    const done = await uninstaller.uninstall('--yes', ...args)
    expect(done, done.stdout).toMatchObject({ code: 0 })
    await lodestone.stop()
    expect(await uninstaller.uninstall('--yes', ...args)).toMatchObject({ code: 0, stderr: '' })
    expect(await uninstaller.checkGone()).toEqual(gone)

    const [pod] = await plane.listJson('pods', name)
    expect(pod?.metadata).toMatchObject({ name: 'busy', finalizers, deletionTimestamp: expect.any(String) })
    expect(JSON.stringify(pod?.['spec'])).not.toContain('schedulingGates')
    for (const kind of ['pod', 'configmap']) {
      await plane.kubectl(['patch', kind, 'busy', '-n', name, '--type=merge', '-p', '{"metadata":{"finalizers":null}}'])
    }
    await plane.eventually('the namespace is gone', async () => !(await plane.getJson('namespaces', name)), 60_000)
    expect(await mentions(plane)).toEqual([])
  })

  function manager(name: string, node: string, namespace: string): KubeObject {
    const object = publicVolume(name, node)
    return { ...object, metadata: { ...object.metadata, namespace } }
  }

  function workload(kind: string, name: string, namespace: string, more: object = {}): KubeObject {
    const labels = { app: name, ...(kind === 'Pod' && { 'lodestone.dev/inject': 'true' }) }
    const metadata = { name, namespace, annotations: volumes, ...more }
    const podSpec = {
      containers: [{ name: 'main', image: 'main:1' }],
      restartPolicy: kind === 'Job' ? 'Never' : 'Always',
    }
    if (kind === 'Pod') return { apiVersion: 'v1', kind, metadata: { ...metadata, labels }, spec: podSpec }
    const template = { metadata: { labels }, spec: podSpec }
    return kind === 'Job'
      ? { apiVersion: 'batch/v1', kind, metadata, spec: { template } }
      : { apiVersion: 'apps/v1', kind, metadata, spec: { selector: { matchLabels: labels }, template } }
  }
})
