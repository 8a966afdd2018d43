// `lodestone uninstall` on a hub and in a cluster with everything in use, while Lodestone runs. uninstall.full.test.ts has the other orders.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Pod } from '../../src/api/pod.ts'
import { type ControlPlane, startControlPlane } from './control-plane.ts'
import { bindings, type Hub, hubOn } from './hub.ts'
import { installLodestone, type Lodestone, leaseRights, startLodestone } from './lodestone.ts'
import { claim, configMap, deployment, policy, type SpecObject, source } from './manifests.ts'
import { publicVolume } from './member.ts'
import { diskPressure } from './nodes.ts'
import { installUninstaller, mentions, type Uninstaller } from './uninstall.ts'

const election = { leaderElection: { enabled: true } }

describe('on a hub', () => {
  let plane: ControlPlane
  let hub: Hub
  let uninstaller: Uninstaller
  let lodestone: Lodestone

  beforeAll(async () => {
    plane = await startControlPlane({
      garbageCollector: true,
      flags: { 'karmada-controller-manager': ['--feature-gates=PropagateDeps=false'] },
    })
    hub = hubOn(plane)
    const kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
    const config = { dependencies: { distribution: 'builtin' }, ...election }
    lodestone = await startLodestone(plane, { kubeconfig, config })
  })
  afterAll(() => plane?.stopAll())

  test('narrowed workloads stay, and no object mentions Lodestone', async () => {
    const settings = configMap('placed-settings')
    await hub.apply(settings, source('placed-data', ['member2']), claim('placed', { data: 'placed-data' }))
    await hub.apply(policy('placed'), deployment('placed', { needs: [settings] }))
    await hub.apply(policy('waiting'), deployment('waiting'), claim('waiting', { data: 'unknown-data' }))
    await hub.isOnlyIn(deployment('placed'), 'member2')
    await hub.isOnlyIn(settings, 'member2')
    await plane.eventually('the other is on hold', async () =>
      (await plane.kubectl(['get', bindings, '-A', '-o', 'yaml'])).stdout.includes('lodestone.dev/hold'),
    )

    expect((await uninstaller.uninstall()).stdout).toContain('nothing was changed; run again with --yes')
    expect((await uninstaller.checkGone()).code).toBe(1)
    const done = await uninstaller.uninstall('--yes')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toContain('kept: PropagationPolicy default/placed: spec.propagateDeps: true')
    expect(done.stdout).toContain('it keeps 1 running replica from beginning again')

    await lodestone.stop()
    expect(await uninstaller.uninstall('--yes')).toEqual({
      code: 0,
      stderr: '',
      stdout: 'nothing of Lodestone is left\n',
    })
    expect(await uninstaller.checkGone()).toMatchObject({ code: 0, stderr: '' })
    expect(await mentions(plane)).toEqual([])

    // Karmada works without Lodestone.
    await hub.apply(policy('later'), deployment('later'))
    for (const name of ['waiting', 'later']) await hub.isOnlyIn(deployment(name), 'member1,member2,member3')
    await hub.isOnlyIn(deployment('placed'), 'member2')
    await hub.isOnlyIn(settings, 'member2')
  })
})

describe('in a cluster', () => {
  let plane: ControlPlane
  let uninstaller: Uninstaller
  let lodestone: Lodestone

  beforeAll(async () => {
    plane = await startControlPlane({ karmada: false, nodes: { names: ['node-1', 'node-2'], movers: 'succeed' } })
    const kubeconfig = await installLodestone(plane)
    await plane.apply(leaseRights())
    uninstaller = await installUninstaller(plane)
    lodestone = await startLodestone(plane, { kubeconfig, config: { volumes: { enabled: true }, ...election } })
  })
  afterAll(() => plane?.stopAll())

  test('with --keep-data only annotations of users mention Lodestone', async () => {
    const volumes = { 'lodestone.dev/volumes': '{"name": "mnist", "mount-path": "/data"}' }
    // Movers wait for a node with disk pressure, and pods for the movers.
    await diskPressure(plane, 'node-2', 'True')
    await plane.apply([publicVolume('mnist', 'node-1'), publicVolume('waiting', 'node-2')])
    await plane.eventually('the data is on a node', async () => (await stateOf('mnist')) === 'Running')
    await plane.apply([workload('Deployment', volumes), workload('DaemonSet', volumes)])
    const gated = { 'lodestone.dev/volumes': '{"name": "waiting", "mount-path": "/data"}' }
    await plane.apply([pod('gated', gated)])
    expect((await podNamed('gated')).spec.schedulingGates).toEqual([{ name: 'lodestone.dev/volumes' }])
    await plane.eventually('the pods run', async () => (await pods()).filter(mountsData).length >= 2)

    const done = await uninstaller.uninstall('--yes', '--keep-data')
    expect(done).toMatchObject({ code: 0, stderr: '' })
    expect(done.stdout).toMatch(/kept: VolumeManager default\/mnist: data on node node-1: \/var\/datasets\//)
    await lodestone.stop()
    expect(await uninstaller.uninstall('--yes', '--keep-data')).toMatchObject({ code: 0, stderr: '' })
    expect(await uninstaller.checkGone()).toMatchObject({ code: 0, stderr: '' })

    expect((await podNamed('gated')).spec.schedulingGates).toBeUndefined()
    const [daemonSet] = (await plane.listJson('daemonsets', 'default')) as SpecObject[]
    expect(JSON.stringify(daemonSet?.spec)).not.toMatch(/lodestone|affinity/)
    // Their own annotations, and the revisions, which Kubernetes does not let change.
    const kinds = (await mentions(plane)).map((object) => object.split(' ', 1)[0])
    expect([...new Set(kinds)]).toEqual(['ControllerRevision', 'DaemonSet', 'Deployment', 'Pod', 'ReplicaSet'])
    expect(await mentions(plane)).toContain('Pod default/gated')
  })

  async function stateOf(name: string): Promise<unknown> {
    const found = (await plane.getJson('volumemanagers.vck.intelai.org', name, 'default')) as {
      status?: { state?: string }
    }
    return found.status?.state
  }

  const pods = async () => (await plane.listJson('pods', 'default')) as unknown as Pod[]
  const podNamed = async (name: string) => (await plane.getJson('pods', name, 'default')) as unknown as Pod
})

function workload(kind: string, annotations: Record<string, string>): SpecObject {
  const labels = { app: kind.toLowerCase() }
  const template = { metadata: { labels }, spec: { containers: [{ name: 'main', image: 'server:1' }] } }
  const spec = { ...(kind === 'Deployment' && { replicas: 1 }), selector: { matchLabels: labels }, template }
  return { apiVersion: 'apps/v1', kind, metadata: { name: labels.app, namespace: 'default', annotations }, spec }
}

function pod(name: string, annotations: Record<string, string>): SpecObject {
  const metadata = { name, namespace: 'default', annotations, labels: { 'lodestone.dev/inject': 'true' } }
  return { apiVersion: 'v1', kind: 'Pod', metadata, spec: { containers: [{ name: 'main', image: 'server:1' }] } }
}

function mountsData(pod: Pod): boolean {
  return JSON.stringify(pod).includes('hostPath')
}
