/** VolumeManagers that are deleted with their namespace, on a store in memory. */
import { describe, expect, test } from 'vitest'
import { secrets } from '../../src/api/dependencies.ts'
import { namespaces } from '../../src/api/namespace.ts'
import { nodes } from '../../src/api/node.ts'
import type { Pod } from '../../src/api/pod.ts'
import { type VolumeConfig, volumeManagers } from '../../src/api/volume-manager.ts'
import type { Secret } from '../../src/core/volume-manager/mover/credentials.ts'
import { leftoverDigests, MAX_LEFTOVERS } from '../../src/core/volume-manager/nodes/leftovers.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { Crash, VOLUME_SETTINGS, VolumeWorld } from '../volume-world.ts'

const OWN = 'lodestone-system'

interface Scene {
  volumes?: Partial<VolumeConfig>[]
  nodes?: string[]
  /** The namespaces that exist and are in the cache. */
  namespaces?: string[]
  /** `volumes.movers.namespace` */
  movers?: string
  /** `volumes.movers.maxPerNode` and `maxInAll` */
  perNode?: number
}

async function worldWith({
  volumes = [{ replicas: 2 }],
  nodes: names = ['n1', 'n2'],
  namespaces = ['default', OWN, 'kube-system'],
  movers,
  perNode = 5,
}: Scene = {}): Promise<VolumeWorld> {
  const world = await new VolumeWorld().start(...names)
  const own = { ownNamespace: OWN, ...(movers !== undefined && { namespace: movers }) }
  const most = { maxPerNode: perNode, maxInAll: 4 * perNode }
  world.settings = { ...VOLUME_SETTINGS, movers: { ...VOLUME_SETTINGS.movers, ...most, ...own } }
  for (const namespace of namespaces) await world.addNamespace(namespace)
  const metadata = { name: 'aws-creds', namespace: 'default' }
  const data = { awsAccessKeyID: 'YQ==', awsSecretAccessKey: 'Yg==' }
  await world.store.create(secrets, { apiVersion: 'v1', kind: 'Secret', metadata, data } as Secret)
  await world.store.create(volumeManagers, makeVolumeManager(volumes))
  await world.settle()
  return world
}

const pathOf = async (world: VolumeWorld) => (await world.volume())?.volumeSource?.hostPath?.path ?? ''
const disksOf = (world: VolumeWorld) => [...world.disks.keys()].map((place) => `${place}/data`)
const leftOn = (world: VolumeWorld, node: string) => leftoverDigests(world.store.get(nodes, undefined, node) as never)

/** The namespaces of the movers that delete, as they run. */
function deletions(world: VolumeWorld): string[] {
  const seen: string[] = []
  world.fate = (pod) => {
    if (pod.spec.containers[0]?.args?.includes('delete')) seen.push(pod.metadata.namespace ?? '')
    return 'completes'
  }
  return seen
}

async function pass(world: VolumeWorld, minutes: number): Promise<void> {
  for (let i = 0; i < minutes; i++) await world.pass(60)
}

test('a VolumeManager ends with its namespace, and movers elsewhere delete the data', async () => {
  const world = await worldWith()
  const seen = deletions(world)

  await world.deleteNamespace()
  await world.settle()

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
  expect(seen).toEqual([OWN, OWN])
  expect([...leftOn(world, 'n1'), ...leftOn(world, 'n2'), ...world.movers()]).toEqual([])
  // Lodestone knows that the API server would reject them.
  expect(world.rejected).toBe(0)
  expect(world.violations).toEqual([])
  // The API server takes no Events in this namespace.
  expect(world.events.filter(({ reason }) => reason === 'DataLeft')).toMatchObject([
    {
      about: { kind: 'Namespace', metadata: { name: 'default' } },
      message: expect.stringContaining('VolumeManager sales: vol1 on n1,n2: the namespace is being deleted'),
    },
  ])
})

test.each<{ name: string; scene: Scene; want: string }>([
  {
    name: 'the namespace of all movers',
    scene: { namespaces: ['default', 'movers'], movers: 'movers' },
    want: 'movers',
  },
  { name: 'kube-system without a namespace of Lodestone', scene: { namespaces: ['kube-system'] }, want: 'kube-system' },
  { name: 'the namespace of Lodestone if no namespace is cached', scene: { namespaces: [] }, want: OWN },
])('the movers are in $name', async ({ scene, want }) => {
  const world = await worldWith(scene)
  const seen = deletions(world)

  await world.deleteNamespace()
  await pass(world, 3)

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
  expect(new Set(seen)).toEqual(new Set([want]))
})

test('a deleted namespace is noticed when the API server rejects a mover', async () => {
  const world = await worldWith({ namespaces: [OWN] })

  await world.deleteNamespace()
  await pass(world, 2)

  expect(world.rejected).toBeGreaterThan(0)
  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
})

test('the data of a namespace that was created again is not deleted with the old one', async () => {
  const world = await worldWith({ volumes: [{ replicas: 1 }], nodes: ['n1'] })
  const old = await pathOf(world)
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.deleteNamespace()
  await pass(world, 1)
  expect(await world.manager()).toBeUndefined()
  expect(leftOn(world, 'n1')).toHaveLength(1)

  await world.endNamespace()
  await world.setCondition('n1', 'Ready', 'True')
  const seen = deletions(world)
  await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }]))
  await pass(world, 3)

  expect(await pathOf(world)).not.toBe(old)
  expect(disksOf(world)).toEqual([`n1:${await pathOf(world)}`])
  // A mover in the namespace of the new tenant would show it the data of the old one.
  expect(seen).toEqual([OWN])
})

test('data that a pod uses is deleted when the pod has ended, without a wait', async () => {
  const world = await worldWith()
  const path = await pathOf(world)

  await world.deleteNamespace()
  await world.use('reader', path, 'n1')
  await pass(world, 3)

  expect(await world.manager()).toBeUndefined()
  expect(disksOf(world)).toEqual([`n1:${path}`])
  await world.unuse('reader')
  await pass(world, 2)
  expect(world.disks.size).toBe(0)
  expect(world.violations).toEqual([])
})

test('a mover that the API server rejects is one Event about the node, and is retried', async () => {
  const world = await worldWith({ volumes: [{ replicas: 1 }], nodes: ['n1'] })
  world.refuse = 'pods "vck-resource" is forbidden: violates PodSecurity "restricted:latest"'
  await world.deleteNamespace()
  await pass(world, 60)

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(1)
  // After 1, 2, 4 and 8 minutes, and then every 10.
  expect(world.rejected).toBeLessThanOrEqual(10)
  expect(world.events.filter(({ reason }) => reason === 'LeftoverFailed')).toMatchObject([
    { about: { kind: 'Node' }, message: expect.stringContaining('violates PodSecurity') },
  ])

  world.refuse = undefined
  await pass(world, 11)
  expect(world.disks.size).toBe(0)
})

test('a volume with long names ends too', async () => {
  const options = { ...makeVolume().options, dataPath: `/var/datasets/${'long/'.repeat(700)}data` }
  const world = await worldWith({ volumes: [{ id: 'v'.repeat(253), replicas: 2, options }] })

  await world.deleteNamespace()
  await world.settle()

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
})

test('more volumes than a node may remember end too', async () => {
  const count = MAX_LEFTOVERS + 20
  const volumes = Array.from({ length: count }, (_, i) => ({ id: `vol${i}`, replicas: 1 }))
  const world = await worldWith({ volumes: volumes.slice(0, MAX_LEFTOVERS), nodes: ['n1'], perNode: count })
  await world.store.create(volumeManagers, makeVolumeManager(volumes.slice(MAX_LEFTOVERS), { name: 'others' }))
  await world.settle()
  expect(world.disks.size).toBe(count)
  let most = 0
  world.fate = () => {
    most = Math.max(most, leftOn(world, 'n1').length)
    return 'completes'
  }

  await world.deleteNamespace()
  await pass(world, 20)

  expect(most).toBe(MAX_LEFTOVERS)
  expect([await world.manager(), await world.manager('others')]).toEqual([undefined, undefined])
  expect(world.disks.size).toBe(0)
})

test('neither a node that is not ready nor one that is deleted delays the end', async () => {
  const world = await worldWith()
  await world.setCondition('n1', 'Ready', 'Unknown')
  await world.removeNode('n2')

  await world.deleteNamespace()
  await world.settle()

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(1)
  await world.setCondition('n1', 'Ready', 'True')
  await world.settle()
  expect(world.disks.size).toBe(0)
})

test('a download that runs is stopped first', async () => {
  const world = await worldWith({ volumes: [] })
  world.fate = () => 'goes on'
  await world.change({ spec: { volumeConfigs: [makeVolume({ replicas: 1 })] } })
  await world.settle()
  const [running] = world.movers() as [Pod]
  expect(running.status?.phase).toBe('Running')

  // Its kubelet has not stopped it yet.
  await world.store.patch(nodes, { name: 'n1' }, { metadata: { labels: { a: 'b' } } })
  world.disks.set(`n1:${running.spec.volumes?.[0]?.hostPath?.path}`, 'part')
  const seen = deletions(world)
  await world.deleteNamespace()
  await pass(world, 2)

  expect(await world.manager()).toBeUndefined()
  expect(world.disks.size).toBe(0)
  expect(seen).toEqual([OWN])
  expect(world.violations).toEqual([])
})

test('a controller that ends at any write has a successor that leaves nothing behind', async () => {
  let crashes = 0
  for (let writes = 0; ; writes++) {
    const world = await worldWith()
    await world.deleteNamespace()
    world.writesLeft = writes
    const crashed = await world.settle().then(
      () => false,
      (error) => {
        if (!(error instanceof Crash)) throw error
        return true
      },
    )
    world.restart()
    await pass(world, 2)

    expect(await world.manager(), `after ${writes} writes`).toBeUndefined()
    expect([world.disks.size, world.movers().length], `after ${writes} writes`).toEqual([0, 0])
    expect(world.violations).toEqual([])
    if (!crashed) break
    crashes++
  }
  expect(crashes).toBeGreaterThan(5)
})

describe('changes that are not written back', () => {
  const volumes = [{ replicas: 1, options: { ...makeVolume().options, resync: 'true' } }]

  async function worldWithChanges(scene: Scene = {}): Promise<VolumeWorld> {
    const world = await worldWith({ volumes, nodes: ['n1'], ...scene })
    await world.use('trainer', `${(await world.volume())?.replicas?.[0]?.path}/data`, 'n1')
    await pass(world, 1)
    return world
  }

  test('stay until the user accepts the loss; the status names volume, node and remedy', async () => {
    const world = await worldWithChanges()
    await world.deleteNamespace()
    await pass(world, 30)

    const { status } = (await world.manager()) ?? {}
    expect(status?.state).toBe('Failed')
    const message =
      'the data is not deleted: vol1: n1: changes are not written back: CreateRefused: namespace default is being deleted, and takes no new movers; annotate lodestone.dev/delete-in-use=true to delete the data without its changes'
    expect(status?.message).toBe(message)
    expect(status?.conditions?.find(({ type }) => type === 'WrittenBack')).toMatchObject({ status: 'False' })
    expect(world.events.filter(({ reason }) => reason === 'Failed')).toMatchObject([
      { type: 'Warning', about: { kind: 'Namespace' }, message: `VolumeManager sales: ${message}` },
    ])
    expect(world.events.filter(({ reason }) => reason === 'WriteBackFailed')).toHaveLength(1)
    expect(world.disks.size).toBe(1)
    expect(world.rejected).toBe(0)

    await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
    await pass(world, 2)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('are named with the remedy also if the namespace was deleted before', async () => {
    const world = await worldWithChanges()
    const namespace = await world.store.read(namespaces, undefined, 'default')
    if (namespace) await world.store.delete(namespaces, namespace)
    await world.unuse('trainer')
    await pass(world, 2)
    expect((await world.manager())?.status?.message).toMatch(/^failed to write back changes: /)

    await world.deleteNamespace()
    await pass(world, 2)

    const failed = world.events.filter(({ reason }) => reason === 'Failed')
    expect(failed.at(-1)?.message).toContain('annotate lodestone.dev/delete-in-use=true')
  })

  test('do not keep the slots of other VolumeManagers', async () => {
    const world = await worldWithChanges()
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 1 } }
    await world.deleteNamespace()
    await pass(world, 5)
    await world.endNamespace()
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 1 }], { name: 'other' }))
    await world.settle('other')

    expect((await world.manager('other'))?.status?.state).toBe('Running')
  })

  test('are written back first if the movers are in another namespace with credentials', async () => {
    const world = await worldWithChanges({ movers: 'movers', namespaces: ['default', 'movers'] })
    const verbs: string[] = []
    world.fate = (pod) => {
      verbs.push(pod.spec.containers[0]?.args?.[1] ?? '')
      return 'completes'
    }
    await world.deleteNamespace()
    await pass(world, 5)

    expect(verbs).toEqual(['upload', 'delete'])
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('wait for the user also if the namespace has lost the claim of the data', async () => {
    const [volume] = volumes
    const world = await worldWithChanges({ volumes: [{ ...volume, volumeType: 'persistentVolumeClaim' }] })
    expect(kindsOf(world)).toEqual(['PersistentVolume', 'PersistentVolumeClaim'])
    await world.deleteNamespace()
    await pass(world, 5)

    expect((await world.manager())?.status?.message).toMatch(/; annotate lodestone.dev\/delete-in-use=true/)
    expect(world.rejected).toBe(0)
    await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
    await pass(world, 2)
    expect(await world.manager()).toBeUndefined()
    expect([kindsOf(world), world.disks.size]).toEqual([[], 0])
  })

  const kindsOf = (world: VolumeWorld) =>
    world.store.objects().flatMap(({ object: { kind } }) => (kind.startsWith('PersistentVolume') ? [kind] : []))

  test('without credentials in the namespace they wait for the user too', async () => {
    const world = await worldWithChanges({ movers: 'movers', namespaces: ['default', 'movers'] })
    const secret = await world.store.read(secrets, 'default', 'aws-creds')
    if (secret) await world.store.delete(secrets, secret)
    await world.deleteNamespace()
    await pass(world, 5)

    expect((await world.manager())?.status?.message).toMatch(
      /changes are not written back: CreateRefused: secret "default\/aws-creds" .*; annotate lodestone.dev\/delete-in-use=true/,
    )
    expect(world.disks.size).toBe(1)
  })

  test('on a node that is not ready do not wait for the node, but for the user', async () => {
    const world = await worldWithChanges()
    await world.setCondition('n1', 'Ready', 'Unknown')
    await pass(world, 10)
    await world.deleteNamespace()
    await pass(world, 5)

    expect((await world.manager())?.status?.message).toMatch(
      /vol1: n1: changes are not written back: .*; annotate lodestone.dev\/delete-in-use=true/,
    )
    await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
    await pass(world, 2)
    expect(await world.manager()).toBeUndefined()
  })
})
