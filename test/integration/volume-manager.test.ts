/** VolumeManagers on a store in memory, with a scheduler and kubelets beside them: what a user sees, step by step. */
import { describe, expect, test } from 'vitest'
import { serviceAccounts } from '../../src/api/dependencies.ts'
import { events as EVENTS } from '../../src/api/event.ts'
import { admissionChecks, kueueWorkloads } from '../../src/api/kueue.ts'
import type { K8sObject, ResourceType } from '../../src/api/meta.ts'
import { nodes } from '../../src/api/node.ts'
import { type PersistentVolume, persistentVolumeClaims, persistentVolumes } from '../../src/api/persistent-volume.ts'
import { type Pod, type PodStatus, pods } from '../../src/api/pod.ts'
import { roleBindings } from '../../src/api/rbac.ts'
import { type VolumeConfig, type VolumeManager, volumeManagers } from '../../src/api/volume-manager.ts'
import { directoryOfMover } from '../../src/core/volume-manager/mover/affinity.ts'
import { claimNameOf } from '../../src/core/volume-manager/rules/names.ts'
import { decidePod } from '../../src/core/workload/decide-pod.ts'
import { SHIPPED_KINDS } from '../../src/core/workload-kinds/kinds.ts'
import { volumeManagersOf } from '../../src/queries/volumes.ts'
import { makeAdmissionCheck, makeDaemonSet, makeKueueWorkload, makeVolume, makeVolumeManager } from '../builders.ts'
import { ended, moverSays, PLATFORM, VolumeWorld } from '../volume-world.ts'

async function worldWith(volumes: Partial<VolumeConfig>[] = [{ replicas: 2 }], names = ['n1', 'n2', 'n3']) {
  const world = await new VolumeWorld().start(...names)
  await world.store.create(volumeManagers, makeVolumeManager(volumes))
  return world
}

const failed = (code: string, retry: boolean, message = code) =>
  ended('Failed', { exitCode: 1, message: moverSays({ code, retry, message }) })
const pathOf = async (world: VolumeWorld) => (await world.volume())?.volumeSource?.hostPath?.path ?? ''
const directoryOf = async (world: VolumeWorld) => (await pathOf(world)).replace(/\/data$/, '')
const spec = (...volumes: Partial<VolumeConfig>[]) => ({ spec: { volumeConfigs: volumes.map(makeVolume) } })
const notOn = (...hosts: string[]) => {
  const notOnHosts = { key: 'kubernetes.io/hostname', operator: 'NotIn', values: hosts }
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [notOnHosts] }] } }
}
const wholeOn = (world: VolumeWorld) =>
  [...world.disks]
    .filter(([, state]) => state === 'whole')
    .map(([place]) => place.split(':')[0])
    .sort()
/** A running mover tells how far it is. */
async function tell(world: VolumeWorld, doneBytes: number, doneFiles: number, totalBytes?: number) {
  const name = `${world.movers()[0]?.metadata.name}.data-path-progress`
  const message = JSON.stringify({ v: 1, attempt: 1, doneBytes, doneFiles, totalBytes })
  const event = { apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'default' }, message }
  const before = await world.store.read(EVENTS, 'default', name)
  await (before
    ? world.store.update(EVENTS, { ...before, ...event, metadata: before.metadata })
    : world.store.create(EVENTS, event))
}
const replicaStates = async (world: VolumeWorld) => (await world.volume())?.replicas?.map(({ state }) => state)

describe('a VolumeManager that is created', () => {
  test('is Running when its data is on as many nodes as asked for, in the words of VCK', async () => {
    const world = await worldWith()

    await world.reconcile()
    await world.reconcile()
    expect((await world.manager())?.status).toMatchObject({
      state: 'Pending',
      message: 'Beginning sub-resource deployment',
      ready: '0/1',
    })
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Running',
      message: 'successfully deployed all sub-resources',
      observedGeneration: 1,
      ready: '1/1',
      volumes: [{ id: 'vol1', message: 'success', readyReplicas: 2, bytes: 4096 }],
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'ReplicasReady', status: 'True' },
      ],
    })
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])
    expect([...world.downloads.values()]).toEqual([1, 1])
    expect(world.movers()).toEqual([])
    expect(world.events.map(({ reason }) => reason)).toEqual(['Pending', 'Running'])
  })

  test('has the nodes of its data in the status before the download, unchanged later', async () => {
    const world = await worldWith()
    for (let i = 0; i < 3; i++) await world.reconcile()
    const early = await world.volume()
    await world.settle()

    const { volumeSource, nodeAffinity } = (await world.volume()) ?? {}
    expect(early).toMatchObject({ volumeSource, nodeAffinity })
    expect(volumeSource?.hostPath?.path).toMatch(/^\/var\/datasets\/vck-resource-[0-9a-f-]{36}-[0-9a-z]{13}\/data$/)
  })

  test('makes movers with the credentials by reference, one directory, and no rights', async () => {
    const world = await worldWith([{ tolerations: [{ key: 'gpu', operator: 'Exists' }] }])
    for (let i = 0; i < 3; i++) await world.reconcile()

    const [mover] = world.movers()
    expect(mover).toMatchObject({
      metadata: { labels: { vckname: 'sales', vcid: 'vol1', 'lodestone.dev/mover': 'download' } },
      spec: {
        restartPolicy: 'Never',
        serviceAccountName: 'lodestone-mover',
        tolerations: [{ key: 'gpu', operator: 'Exists' }],
        containers: [
          {
            args: expect.arrayContaining([
              'mover',
              'download',
              '--source',
              's3://lake/sales/',
              '--target',
              '/volume/data',
            ]),
            env: expect.arrayContaining([
              { name: 'AWS_ACCESS_KEY_ID', valueFrom: { secretKeyRef: { name: 'aws-creds', key: 'awsAccessKeyID' } } },
            ]),
            securityContext: expect.objectContaining({ capabilities: { drop: ['ALL'] }, readOnlyRootFilesystem: true }),
          },
        ],
      },
    })
    expect(mover?.spec.volumes?.filter(({ hostPath }) => hostPath)).toEqual([
      { name: 'volume', hostPath: { path: await directoryOf(world), type: 'DirectoryOrCreate' } },
    ])
    const kinds = world.store.objects().map(({ object }) => object.kind)
    expect(kinds).toEqual(expect.arrayContaining(['ServiceAccount', 'RoleBinding']))
  })

  test('with an affinity has its data there and nowhere else', async () => {
    const zone = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }],
      },
    }
    const world = await worldWith([{ replicas: 2, nodeAffinity: zone }])
    await world.addNode('n8', { labels: { zone: 'a' } })
    await world.addNode('n9', { labels: { zone: 'a' } })

    await world.settle()

    expect(await world.nodesOf()).toEqual(['n8', 'n9'])
  })

  test('with more replicas than nodes reports it, and continues when nodes join', async () => {
    const world = await worldWith([{ replicas: 3 }], ['n1', 'n2'])
    await world.settle()
    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'failed to deploy all the sub-resources',
      volumes: [{ message: 'replicas [3] greater than number of nodes [2]' }],
    })
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])

    await world.addNode('n3')
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
  })

  test('with an invalid spec fails with the message of VCK, and starts nothing', async () => {
    const world = await worldWith([{ labels: {} }])
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'failed to deploy all the sub-resources',
      volumes: [{ id: 'vol1', message: 'labels cannot be empty' }],
    })
    await world.change(spec({}))
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('wanted as Failed is Failed, and nothing is done for it', async () => {
    const world = await new VolumeWorld().start('n1')
    await world.store.create(volumeManagers, makeVolumeManager([{}], { state: 'Failed' }))
    await world.settle()

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'Added with desired state as failed and controller marked volume manager as Failed',
    })
    expect(world.downloads.size).toBe(0)
  })

  test('has the parts of divided data on nodes of their own', async () => {
    const options = { ...makeVolume().options, distributionStrategy: '{"*0_1*": 2, "*1_1*": 1}' }
    const world = await worldWith([{ replicas: 3, options }])
    const asked: string[][] = []
    world.fate = (pod) => {
      asked.push(pod.spec.containers[0]?.args ?? [])
      return 'completes'
    }
    await world.settle()

    const volume = await world.volume()
    expect(volume?.message).toBe('success')
    expect(volume?.shards?.map(({ name, readyReplicas }) => [name, readyReplicas])).toEqual([
      ['*0_1*', 2],
      ['*1_1*', 1],
    ])
    expect(asked.map((args) => args[args.indexOf('--match') + 1]).sort()).toEqual(['*0_1*', '*0_1*', '*1_1*'])
    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
    const [first, second] = volume?.shards ?? []
    const matching = (shard = first) =>
      [...world.store.list(nodes)].filter(({ metadata }) => {
        const [term] = shard?.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []
        return metadata.labels?.[term?.matchExpressions?.[0]?.key ?? ''] !== undefined
      }).length
    expect([matching(first), matching(second)]).toEqual([2, 1])
  })
})

describe('a mover that fails', () => {
  /** Runs a world whose downloads fail `count` times; returns the node of each download. */
  async function failDownloads(count: number, message: (attempt: number) => PodStatus) {
    const world = await worldWith([{}])
    const places: (string | undefined)[] = []
    world.fate = (pod) => {
      if (isDelete(pod)) return 'completes'
      places.push(pod.spec.nodeName)
      return places.length <= count ? message(places.length) : 'completes'
    }
    await world.settle()
    return { world, places }
  }

  test('without data on its node is followed by one elsewhere, and leaves nothing behind', async () => {
    const { world, places } = await failDownloads(2, () => failed('Unreachable', true))
    expect((await world.volume())?.replicas).toMatchObject([
      { state: 'Failed', reason: 'Unreachable', failures: 1, nodeFailures: [{ node: 'n1', reason: 'Unreachable' }] },
    ])
    expect((await world.manager())?.status?.state).toBe('Pending')

    for (let i = 0; i < 3; i++) await world.pass(30)

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(places).toEqual(['n1', 'n2', 'n3'])
    expect([...world.disks.keys()].map((place) => place.split(':')[0])).toEqual(['n3'])
    const [replica] = (await world.volume())?.replicas ?? []
    expect([replica?.failures, replica?.nodeFailures]).toEqual([undefined, undefined])
  })

  test('is followed by one on the same node while each attempt adds data there', async () => {
    const { world, places } = await failDownloads(5, (attempt) =>
      ended('Failed', { message: moverSays({ code: 'Unreachable', bytes: attempt * 100 }) }),
    )
    for (let i = 0; i < 10; i++) await world.pass(60)

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(places).toEqual(['n1', 'n1', 'n1', 'n1', 'n1', 'n1'])
  })

  test('on a node that is excluded afterwards is followed by one on another node at once', async () => {
    const { world, places } = await failDownloads(1, () =>
      ended('Failed', { message: moverSays({ code: 'Unreachable', bytes: 100 }) }),
    )
    await world.change(spec({ nodeAffinity: notOn('n1') }))
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(places).toEqual(['n1', 'n2'])
  })

  test('on a node that is tainted afterwards is followed by one on another node at once', async () => {
    const { world, places } = await failDownloads(1, () =>
      ended('Failed', { message: moverSays({ code: 'Unreachable', bytes: 100 }) }),
    )
    await world.taint('n1', { key: 'maintenance', effect: 'NoSchedule' })
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(places).toEqual(['n1', 'n2'])
  })

  test.each([
    { name: 'by itself', code: 'NotFound', retry: false, passes: 0 },
    { name: 'after three failures', code: 'Unreachable', retry: true, passes: 4 },
  ])('makes the volume fail in the words of VCK: $name', async ({ code, retry, passes }) => {
    const world = await worldWith([{}])
    world.fate = (pod) => (isDelete(pod) ? 'completes' : failed(code, retry, 'the bucket fake-url is not there'))
    await world.settle()
    for (let i = 0; i < passes; i++) await world.pass(60)

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: 'failed to deploy all the sub-resources',
      volumes: [
        {
          message: expect.stringMatching(
            new RegExp(
              `^error during data download using pod \\[name: vck-resource-.*\\]: ${code}: the bucket fake-url`,
            ),
          ),
        },
      ],
    })
    world.fate = () => 'completes'
    for (let i = 0; i < 5; i++) await world.pass(600)
    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test.each([
    {
      name: 'evicted',
      status: { phase: 'Failed', reason: 'Evicted', message: 'low on memory' },
      want: 'Evicted: low on memory',
    },
    {
      name: 'short of memory',
      status: ended('Failed', { reason: 'OOMKilled', exitCode: 137 }),
      want: 'OOMKilled: the mover ran out of memory',
    },
    {
      name: 'out of time',
      status: { phase: 'Failed', reason: 'DeadlineExceeded' },
      want: 'DeadlineExceeded: timed out waiting for the condition',
    },
    {
      name: 'without a word',
      status: ended('Failed', { exitCode: 7, reason: 'Error' }),
      want: 'Unexpected: exit status 7',
    },
  ])('says why: $name', async ({ status, want }) => {
    const world = await worldWith([{}])
    world.fate = () => status
    await world.settle()

    const [replica] = (await world.volume())?.replicas ?? []
    expect(`${replica?.reason}: ${replica?.message}`).toBe(want)
    expect(world.events.find(({ reason }) => reason === 'MoverFailed')?.message).toContain(want)
  })

  test('beside a container of a webhook that runs on is deleted when it has ended', async () => {
    const world = await worldWith([{}])
    world.fate = (pod) => {
      world.disks.set(`${pod.spec.nodeName}:${directoryOfMover(pod)}`, 'whole')
      const terminated = { exitCode: 0, message: moverSays({ outcome: 'completed', bytes: 4096 }) }
      const containers = [
        { name: 'istio-proxy', state: {} },
        { name: 'mover', state: { terminated } },
      ]
      return { phase: 'Running', containerStatuses: containers }
    }
    await world.settle()

    expect((await world.volume())?.message).toBe('success')
    expect(world.movers()).toEqual([])
  })

  test('where the disk is full leaves nothing there and tries another node', async () => {
    const world = await worldWith([{}])
    world.fate = (pod) => (pod.spec.nodeName === 'n1' && !isDelete(pod) ? failed('NoSpace', false) : 'completes')
    await world.settle()
    expect(world.disks.size).toBe(0)
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.pass(60)

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n2'])
  })

  test('where a pod left files goes elsewhere; they are deleted when no pod uses them', async () => {
    const world = await worldWith([{}], ['n1', 'n2'])
    const message = '/volume/data has files that no mover wrote'
    world.fate = (pod) =>
      pod.spec.nodeName === 'n1' && !isDelete(pod) ? failed('TargetExists', false, message) : 'completes'
    for (let i = 0; i < 3; i++) await world.reconcile()
    await world.use('preferred', await pathOf(world), 'n1')
    await world.settle()
    expect(world.events.find(({ reason }) => reason === 'MoverFailed')?.message).toContain(`TargetExists: ${message}`)

    await world.pass(60)
    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n2'])
    expect((await world.volume())?.deletions).toMatchObject([{ node: 'n1', message: 'in use by default/preferred' }])

    await world.end('preferred')
    await world.pass(60)
    expect((await world.volume())?.deletions).toBeUndefined()
    expect(world.violations).toEqual([])
  })

  test('because its pod was deleted is followed by another', async () => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) await world.reconcile()
    for (const pod of world.movers()) await world.remove(pods, pod)
    await world.reconcile()
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'PodDeleted' }])

    await world.pass(30)

    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test.each([
    { when: 'that has ended', begin: (world: VolumeWorld) => world.rush(), attempt: 1, wait: 0 },
    { when: 'that has just begun', begin: (world: VolumeWorld) => world.live(), attempt: 2, wait: 30 },
  ])('because another client removed its pod $when leaves no data on its node', async (removal) => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) await world.reconcile()
    await removal.begin(world)
    await world.loseMovers()
    // Any new mover would go elsewhere.
    await world.addNode('a')

    await world.settle()
    await world.pass(removal.wait)

    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready', node: 'n1', attempt: removal.attempt }])
    expect([...world.downloads.values()]).toEqual([1])
    await world.deleteManager()
    await world.settle()
    await world.pass(10)
    expect([await world.manager(), world.disks.size, world.violations]).toEqual([undefined, 0, []])
  })

  test('to begin in time is given up, with the scheduler’s reason, and tried elsewhere', async () => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) await world.reconcile()
    const [mover] = world.movers()
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: '0/3 nodes: taint' }]
    if (mover) await world.setStatus(mover, { phase: 'Pending', conditions })
    await world.reconcile()
    expect((await world.volume())?.replicas).toMatchObject([
      { state: 'Starting', reason: 'Unschedulable', message: '0/3 nodes: taint' },
    ])

    world.now += 1801_000
    await world.reconcile()

    expect((await world.volume())?.replicas).toMatchObject([
      { state: 'Failed', reason: 'PrepareTimeout', message: 'did not start in time: 0/3 nodes: taint' },
    ])
    await world.reconcile()
    expect(world.movers()).toEqual([])
  })

  test('to go on is given up after the progress timeout, and goes on where it was', async () => {
    const world = await worldWith([{}])
    world.fate = () => 'goes on'
    await world.settle()
    const progress = (bytes: number) => ({
      apiVersion: 'v1',
      kind: 'Event',
      metadata: { name: `${world.movers()[0]?.metadata.name}.data-path-progress`, namespace: 'default' },
      message: JSON.stringify({ v: 1, attempt: 1, doneBytes: bytes, totalBytes: 4096 }),
    })
    const event = await world.store.create(EVENTS, progress(1024))
    await world.pass(500)
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Downloading', bytes: 1024, totalBytes: 4096 }])
    await world.store.update(EVENTS, { ...event, ...progress(2048), metadata: event.metadata })
    await world.pass(500)
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Downloading', node: 'n1', bytes: 2048 }])

    await world.pass(700)
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'Stalled', node: 'n1' }])
    expect(world.movers()).toEqual([])
    world.fate = () => 'completes'
    await world.pass(60)
    expect(await world.nodesOf()).toEqual(['n1'])
  })

  test('to list a large bucket is not given up as long as the list grows', async () => {
    const world = await worldWith([{}])
    world.fate = () => 'goes on'
    await world.settle()
    for (const totalBytes of [10, 20, 30]) {
      await tell(world, 0, 0, totalBytes)
      await world.pass(500)
    }

    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Downloading', bytes: 0, totalBytes: 30 }])
  })

  test('to get its image fails after a grace', async () => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) await world.reconcile()
    const [mover] = world.movers()
    const waiting = { reason: 'ImagePullBackOff', message: 'Back-off pulling image' }
    if (mover)
      await world.setStatus(mover, { phase: 'Pending', containerStatuses: [{ name: 'mover', state: { waiting } }] })
    await world.reconcile()
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Starting', reason: 'ImagePullBackOff' }])

    world.now += 61_000
    await world.reconcile()

    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'ImagePullBackOff' }])
  })
})

test.each(['CreateContainerConfigError', 'ErrImagePull'])(
  'a node keeps its data while movers fail with %s',
  async (reason) => {
    const world = await new VolumeWorld().start('n1', 'n2')
    await world.store.create(volumeManagers, makeVolumeManager([{}]))
    await world.settle()
    const data = [...world.disks]
    // The node is registered again with its disk, before the cache has seen that it was gone.
    await world.removeNode('n1')
    await world.addNode('n1')
    for (const [place, state] of data) world.disks.set(place, state)
    const waiting = { name: 'mover', state: { waiting: { reason, message: 'no' } } }
    world.fate = () => 'goes on'
    for (let i = 0; i < 10; i++) {
      await world.reconcile()
      await world.live()
      for (const mover of world.movers())
        await world.setStatus(mover, { phase: 'Pending', containerStatuses: [waiting] })
      world.now += 15_000
    }
    expect((await world.volume())?.replicas).toMatchObject([{ node: 'n1', reason }])
    world.fate = () => 'completes'
    for (let i = 0; i < 4; i++) await world.pass(600)

    expect((await world.volume())?.replicas).toMatchObject([{ node: 'n1', state: 'Ready' }])
    expect([...world.downloads.values()]).toEqual([1])
  },
)

describe('the movers of one volume', () => {
  test('never meet on a node, however quick they are: one at a time looks for one', async () => {
    const world = await worldWith([{ replicas: 3 }])
    for (let i = 0; i < 12; i++) {
      await world.reconcile()
      await world.rush()
    }

    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
    expect([...world.downloads.values()]).toEqual([1, 1, 1])
    expect((await world.volume())?.replicas?.map(({ attempt }) => attempt)).toEqual([1, 1, 1])
    expect(world.events.map(({ reason }) => reason)).toEqual(['Pending', 'Running'])
  })

  test('run side by side once they have their nodes', async () => {
    const world = await worldWith([{ replicas: 3 }])
    world.fate = () => 'goes on'
    await world.settle()

    expect(world.movers().map(({ status }) => status?.phase)).toEqual(['Running', 'Running', 'Running'])
  })

  test('that met all the same are one replica, and the other is created elsewhere', async () => {
    const world = await worldWith([{ replicas: 2 }])
    world.fate = () => 'goes on'
    for (let i = 0; i < 5; i++) {
      await world.reconcile()
      const next = world.movers().find(({ spec: { nodeName } }) => !nodeName)?.metadata
      // Bypasses the scheduler, which no client should do.
      if (next) await world.store.patch(pods, { ...next, name: next.name ?? '' }, { spec: { nodeName: 'n1' } })
    }
    expect(world.movers().map(({ spec }) => spec.nodeName)).toEqual(['n1', 'n1'])
    world.fate = () => 'completes'
    for (let i = 0; i < 3; i++) await world.live()
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n1', 'n2'])
    expect([...world.downloads.values()]).toEqual([1, 1])
    expect((await world.volume())?.replicas).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
    expect((await world.volume())?.replicas?.[1]).not.toHaveProperty('failures')
    expect(world.events.map(({ reason }) => reason)).toEqual(['Pending', 'Running'])
  })

  test('for which there is no node keep no others from theirs', async () => {
    const world = await new VolumeWorld().start('n1')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 2 } }
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 3 }], { name: 'greedy' }))
    await world.addNode('n2', { conditions: [{ type: 'DiskPressure', status: 'True' }] })
    await world.addNode('n3', { conditions: [{ type: 'DiskPressure', status: 'True' }] })
    await world.settle()
    expect((await world.volume('vol1', 'greedy'))?.replicas?.map(({ state, reason }) => [state, reason])).toEqual([
      ['Starting', 'Unschedulable'],
      ['Queued', 'NoNode'],
      ['Queued', 'NoNode'],
    ])
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [NAMED_N4] } }
    await world.addNode('n4')
    await world.store.create(volumeManagers, makeVolumeManager([{ nodeAffinity }], { name: 'modest' }))
    for (let i = 0; i < 6; i++) {
      await world.reconcile('modest')
      await world.live()
    }

    expect((await world.manager('modest'))?.status?.state).toBe('Running')
  })

  test('for which there are too few nodes keep no slot from one whose node joins later', async () => {
    const world = await new VolumeWorld().start('n1')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 2 } }
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 9 }], { name: 'greedy' }))
    await world.settle()
    const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [NAMED_N4] } }
    await world.store.create(volumeManagers, makeVolumeManager([{ nodeAffinity }], { name: 'late' }))
    await world.settle()
    expect((await world.volume('vol1', 'late'))?.replicas).toMatchObject([{ state: 'Queued', reason: 'NoNode' }])

    await world.addNode('n4')
    for (let i = 0; i < 6; i++) {
      await world.reconcile('late')
      await world.live()
    }

    expect((await world.manager('late'))?.status?.state).toBe('Running')
  })
})

describe('when a node', () => {
  test('is deleted, its replica is made again on another one', async () => {
    const world = await worldWith()
    await world.settle()
    await world.removeNode('n1')
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n2', 'n3'])
    expect((await world.manager())?.status?.state).toBe('Running')
    expect(world.events.map(({ reason }) => reason)).toContain('ReplicaLost')
  })

  test('goes while there is only one, the volume is Pending, and Running with a node', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.removeNode('n1')
    await world.settle()
    expect((await world.manager())?.status).toMatchObject({ state: 'Failed' })

    await world.addNode('n2')
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
  })

  test('does not answer for long, another one takes its place until it is back', async () => {
    const world = await worldWith()
    await world.settle()
    await world.setCondition('n1', 'Ready', 'Unknown')
    await world.pass(60)
    expect(await world.nodesOf()).toEqual(['n1', 'n2'])
    await world.pass(300)
    expect((await world.volume())?.readyReplicas).toBe(2)
    expect((await replicaStates(world))?.sort()).toEqual(['Ready', 'Ready', 'Unreachable'])

    await world.setCondition('n1', 'Ready', 'True')
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await replicaStates(world)).toEqual(['Ready', 'Ready'])
    expect(wholeOn(world)).toHaveLength(2)
    expect(await world.nodesOf()).toEqual(wholeOn(world))
  })

  test('is created again under its name: its data is checked before it is used', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    const node = await world.store.read(nodes, undefined, 'n1')
    if (node) await world.store.delete(nodes, node)
    await world.addNode('n1')

    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(await world.nodesOf()).toEqual(['n1'])
    // Its disk was the same: the mover found everything there.
    expect([...world.downloads.values()]).toEqual([1])
  })

  test('loses its label, it gets it again', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.store.patch(nodes, { name: 'n1' }, { metadata: { labels: null } })
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n1'])
    expect([...world.downloads.values()]).toEqual([1])
  })
})

describe('a change of the spec', () => {
  test('to more replicas downloads only what is missing', async () => {
    const world = await worldWith()
    await world.settle()
    await world.change(spec({ replicas: 3 }))
    await world.settle()

    expect(await world.nodesOf()).toEqual(['n1', 'n2', 'n3'])
    expect([...world.downloads.values()]).toEqual([1, 1, 1])
    expect((await world.manager())?.status?.observedGeneration).toBe(2)
  })

  test('to fewer replicas deletes unused data', async () => {
    const world = await worldWith([{ replicas: 3 }])
    await world.settle()
    await world.use('reader', await pathOf(world), 'n3')
    await world.change(spec({ replicas: 1 }))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(wholeOn(world)).toEqual(['n3'])
    expect(await world.nodesOf()).toEqual(['n3'])
  })

  test('of the source keeps the old data until the new is there', async () => {
    const world = await worldWith()
    await world.settle()
    const before = await pathOf(world)
    world.fate = () => failed('NotFound', false)
    const source = (url: string) => spec({ replicas: 2, options: { ...makeVolume().options, sourceURL: url } })
    await world.change(source('s3://lake/misspelt/'))
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Failed')
    expect(wholeOn(world)).toEqual(['n1', 'n2'])

    world.fate = () => 'completes'
    await world.change(source('s3://lake/sales/'))
    await world.settle()
    expect(await pathOf(world)).toBe(before)
    expect((await world.manager())?.status?.state).toBe('Running')
    expect([...world.downloads.values()]).toEqual([1, 1])

    await world.change(source('s3://lake/other/'))
    for (let i = 0; i < 3; i++) await world.pass(10)
    expect(await pathOf(world)).not.toBe(before)
    expect([...world.disks.keys()].filter((place) => before.startsWith(place.split(':')[1] ?? ''))).toEqual([])
    expect((await world.volume())?.deletions).toBeUndefined()
  })

  test('of the affinity moves the data: first it is there, then it leaves', async () => {
    const world = await worldWith([{}], ['n1'])
    await world.settle()
    await world.addNode('n2', { labels: { disk: 'ssd' } })
    const nodeAffinity = {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [{ matchExpressions: [{ key: 'disk', operator: 'In', values: ['ssd'] }] }],
      },
    }
    await world.change(spec({ nodeAffinity }))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(wholeOn(world)).toEqual(['n2'])
    expect(await world.nodesOf()).toEqual(['n2'])
  })

  test('that takes a volume away deletes its data and its status', async () => {
    const world = await worldWith([{}, { id: 'vol2' }])
    await world.settle()
    await world.change(spec({}))
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect((await world.manager())?.status?.volumes?.map(({ id }) => id)).toEqual(['vol1'])
    expect(world.disks.size).toBe(1)
  })

  test('to Completed deletions the data, and back brings it again', async () => {
    const world = await worldWith()
    await world.settle()
    await world.change({ spec: { state: 'Completed' } })
    for (let i = 0; i < 3; i++) await world.pass(10)
    expect((await world.manager())?.status).toMatchObject({ state: 'Completed', volumes: [{ message: 'deleted' }] })
    expect((await world.volume())?.volumeSource).toBeUndefined()
    expect(world.disks.size).toBe(0)
    const labels = [...world.store.list(nodes)].flatMap(({ metadata }) => Object.keys(metadata.labels ?? {}))
    expect(new Set(labels)).toEqual(new Set([...Object.keys(PLATFORM), 'kubernetes.io/hostname']))

    await world.change({ spec: { state: 'Running' } })
    await world.settle()
    expect((await world.manager())?.status?.state).toBe('Running')
  })
})

describe('data that is to be deleted', () => {
  test('is deleted on every node before the VolumeManager goes', async () => {
    const world = await worldWith()
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
    expect(world.movers()).toEqual([])
  })

  test('stays while a pod in the status uses it, unless an annotation overrides this', async () => {
    const world = await worldWith()
    await world.settle()
    await world.use('reader', await pathOf(world), 'n1')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(wholeOn(world)).toEqual(['n1'])
    expect((await world.manager())?.status).toMatchObject({
      state: 'Pending',
      message: expect.stringContaining('in use by default/reader; annotate lodestone.dev/delete-in-use=true'),
    })

    await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('goes when the pod has ended', async () => {
    const world = await worldWith()
    await world.settle()
    await world.use('reader', await pathOf(world), 'n1')
    await world.deleteManager()
    await world.pass(60)
    await world.end('reader')
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
  })

  test('is deleted on tainted nodes as well, by a mover without an owner', async () => {
    const world = await worldWith([{}])
    await world.settle()
    const seen: unknown[] = []
    world.fate = (pod) => {
      seen.push({ tolerations: pod.spec.tolerations, owners: pod.metadata.ownerReferences })
      return 'completes'
    }
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(seen).toEqual([{ tolerations: [{ operator: 'Exists' }], owners: undefined }])
  })

  test('that cannot be deleted is tried again', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => failed('Unexpected', true)
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(5)
    expect((await world.volume())?.deletions).toMatchObject([
      { state: 'Failed', reason: 'Unexpected', message: 'Unexpected' },
    ])

    world.fate = () => 'completes'
    for (let i = 0; i < 5; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('is not reported as used by pods because the message of a mover reads like that', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => failed('Unexpected', true, 'device is in use by another process')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(5)

    const { message, conditions } = (await world.manager())?.status ?? {}
    expect(message).toContain('Unexpected: device is in use by another process')
    expect(message).not.toContain('lodestone.dev/delete-in-use')
    expect(conditions?.find(({ type }) => type === 'Ready')?.reason).toBe('Deleting')
  })

  test('by a mover without progress is continued by another mover', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => 'goes on'
    await world.deleteManager()
    await world.pass(5)
    await tell(world, 1024, 1)
    await world.pass(500)
    // Files without bytes are progress as well.
    await tell(world, 1024, 2)
    await world.pass(500)
    expect((await world.volume())?.deletions).toMatchObject([{ state: 'Deleting', bytes: 1024, files: 2 }])

    await world.pass(601)
    const [release] = (await world.volume())?.deletions ?? []
    expect(release).toMatchObject({ state: 'Failed', reason: 'Stalled', message: 'made no progress for too long' })
    expect(release).not.toHaveProperty('bytes')
    expect(world.movers()).toEqual([])

    world.fate = () => 'completes'
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('by a mover that found its node late has all of its time from then on', async () => {
    const world = await worldWith([{}])
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 5; i++) {
      await world.reconcile()
      world.now += 1000
    }
    world.now += 1500_000
    world.fate = () => 'goes on'
    await world.settle()
    await world.pass(500)

    expect((await world.volume())?.deletions).toMatchObject([{ state: 'Deleting', attempt: 1 }])
  })

  test('does not keep its VolumeManager while a finalizer keeps an ended mover', async () => {
    const world = await worldWith([{}])
    await world.settle()
    world.fate = () => 'goes on'
    await world.deleteManager()
    await world.settle()
    await world.pass(10)
    for (const { metadata } of world.movers()) {
      const patch = { metadata: { finalizers: ['example.org/queue'] } }
      await world.store.patch(pods, { namespace: 'default', name: metadata.name ?? '' }, patch)
    }
    expect(world.movers()).not.toEqual([])
    world.fate = () => 'completes'
    await world.settle()

    expect(await world.manager()).toBeUndefined()
  })

  test('is not looked for on a node that is gone', async () => {
    const world = await worldWith()
    await world.settle()
    await world.deleteManager()
    await world.removeNode('n1')
    await world.removeNode('n2')
    for (let i = 0; i < 3; i++) await world.pass(10)

    expect(await world.manager()).toBeUndefined()
  })

  test('during the download leaves no data behind', async () => {
    const world = await worldWith([{}])
    for (let i = 0; i < 3; i++) {
      await world.reconcile()
      await world.live()
    }
    world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('Canceled', true))
    await world.deleteManager()
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })
})

describe('NFS', () => {
  const NFS: Partial<VolumeConfig> = {
    sourceType: 'NFS',
    accessMode: 'ReadOnlyMany',
    options: { server: 'nfs.example.org', path: '/exports' },
  }

  test('is a volume and a claim that name each other, usable once it was mounted', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 3; i++) await world.reconcile()
    expect((await world.manager())?.status?.state).toBe('Pending')
    await world.settle()

    const volume = await world.volume()
    const claimName = volume?.volumeSource?.persistentVolumeClaim?.claimName ?? ''
    expect(volume).toMatchObject({
      message: 'success',
      nodeAffinity: {},
      volumeSource: { persistentVolumeClaim: { claimName, readOnly: true } },
    })
    expect(await world.store.read(persistentVolumes, undefined, claimName)).toMatchObject({
      spec: {
        claimRef: { namespace: 'default', name: claimName },
        nfs: { server: 'nfs.example.org', path: '/exports', readOnly: true },
        persistentVolumeReclaimPolicy: 'Retain',
      },
    })
    expect(await world.store.read(persistentVolumeClaims, 'default', claimName)).toMatchObject({
      spec: { volumeName: claimName, accessModes: ['ReadOnlyMany'], resources: { requests: { storage: '5Gi' } } },
    })
  })

  test('has its claim created when the volume is seen, so that they are bound at once', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 2; i++) await world.reconcile()
    const [volume] = world.store.list(persistentVolumes)
    const name = volume?.metadata.name ?? ''
    const phase = (is: string) =>
      world.store.patch(persistentVolumes, { name }, { status: { phase: is } }, { subresource: 'status' })
    await phase('Pending')
    await world.reconcile()
    expect(await world.store.read(persistentVolumeClaims, 'default', name)).toBeUndefined()

    await phase('Available')
    await world.reconcile()
    expect(await world.store.read(persistentVolumeClaims, 'default', name)).toBeDefined()
  })

  test('is on no node: pods of every node may have it, also when one is deleted', async () => {
    const world = await worldWith([NFS])
    await world.settle()
    const volumes = '{"name": "sales"}'
    const pinned: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: {
        name: 'reader',
        labels: { 'lodestone.dev/inject': 'true' },
        annotations: { 'lodestone.dev/volumes': volumes },
      },
      spec: { nodeName: 'n3', containers: [{ name: 'main', image: 'pause' }] },
    }
    const managers = volumeManagersOf(world.store, 'default')
    const input = {
      pod: pinned,
      managers,
      whenNotReady: 'gate',
      mayRun: () => true,
      request: '1',
      isHub: false,
    } as const
    expect(decidePod(input)).toMatchObject({ kind: 'patch', auditAnnotations: { decision: 'Injected' } })

    world.fate = () => 'goes on'
    for (const node of ['n1', 'n2']) await world.removeNode(node)
    await world.settle()

    expect((await world.manager())?.status?.state).toBe('Running')
    expect(world.events.map(({ reason }) => reason)).not.toContain('ReplicaLost')
  })

  test('that cannot be mounted says so', async () => {
    const world = await worldWith([NFS])
    for (let i = 0; i < 4; i++) await world.reconcile()
    world.now += 1801_000
    await world.reconcile()

    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'PrepareTimeout' }])
  })

  test.each([
    { kind: 'PersistentVolume', type: persistentVolumes, namespace: undefined },
    { kind: 'PersistentVolumeClaim', type: persistentVolumeClaims, namespace: 'default' },
  ])(
    'fails while another client has a $kind with its name, and leaves that alone',
    async ({ kind, type, namespace }) => {
      const world = await worldWith([NFS])
      const manager = (await world.manager()) as VolumeManager
      const name = claimNameOf(manager, makeVolume(NFS))
      const foreign = await world.store.create(type, {
        apiVersion: 'v1',
        kind,
        metadata: { name, ...(namespace && { namespace }) },
      })
      await world.settle()

      const message = `${kind} ${name} exists, and Lodestone did not create it; delete it, so that Lodestone can create its own`
      expect((await world.manager())?.status).toMatchObject({
        state: 'Failed',
        conditions: [{ type: 'Ready', status: 'False', message: `vol1: ${message}` }, {}, { type: 'Stalled' }],
      })
      expect(world.events).toContainEqual(
        expect.objectContaining({ type: 'Warning', message: expect.stringContaining(message) }),
      )
      expect(await world.store.read(type, namespace, name)).toEqual(foreign)
      await world.store.delete(type, foreign)
      await world.settle()
      expect((await world.manager())?.status?.state).toBe('Running')
    },
  )

  test.each([
    { kind: 'PersistentVolume', type: persistentVolumes, namespace: undefined },
    { kind: 'PersistentVolumeClaim', type: persistentVolumeClaims, namespace: 'default' },
  ])('leaves a $kind alone to which another client copied its labels', async ({ kind, type, namespace }) => {
    const world = await worldWith([NFS])
    await world.settle()
    const [own] = world.store.list(type)
    const foreign = await world.store.create(type, {
      apiVersion: 'v1',
      kind,
      metadata: { name: 'copy', labels: own?.metadata.labels, ...(namespace && { namespace }) },
    } as PersistentVolume)
    await world.settle()
    await world.deleteManager()
    await world.pass(60)

    expect([...world.store.list(type)].map(({ metadata }) => metadata.uid)).toEqual([foreign.metadata.uid])
    expect(await world.manager()).toBeUndefined()
  })

  test('leaves no claim and no volume behind, but not while a pod uses it', async () => {
    const world = await worldWith([NFS])
    await world.settle()
    const claimName = (await world.volume())?.volumeSource?.persistentVolumeClaim?.claimName ?? ''
    const volumes = [{ name: 'data', persistentVolumeClaim: { claimName } }]
    const metadata = { name: 'reader', namespace: 'default' }
    await world.store.create(pods, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata,
      spec: { containers: [], volumes, nodeName: 'n1' },
    })
    await world.deleteManager()
    await world.pass(60)
    expect(world.store.size(persistentVolumes)).toBe(1)
    expect((await world.manager())?.status?.message).toContain('in use by default/reader')

    await world.end('reader')
    await world.pass(60)

    expect([world.store.size(persistentVolumes), world.store.size(persistentVolumeClaims)]).toEqual([0, 0])
    expect(await world.manager()).toBeUndefined()
  })
})

test('a requested check waits 10 minutes after the last one, as the condition says', async () => {
  const world = await worldWith([{ readOnly: true }])
  await world.settle()
  let checks = 0
  world.fate = (pod) => {
    if (pod.spec.containers[0]?.args?.includes('check')) checks++
    return 'completes'
  }
  const request = async (value: string) => {
    await world.change({ metadata: { annotations: { 'lodestone.dev/check': value } } })
    await world.settle()
  }
  const ready = async () =>
    (await world.manager())?.status?.conditions?.find(({ type }) => type === 'ReplicasReady')?.message
  await request('1')
  expect([checks, await ready()]).toEqual([1, 'vol1: 1 ready'])
  const endedAt = (await world.volume())?.replicas?.[0]?.requestedCheckTime ?? ''

  await request('2')
  const next = new Date(Date.parse(endedAt) + 600_000).toISOString().replace('.000Z', 'Z')
  expect([checks, await ready()]).toEqual([
    1,
    `vol1: 1 ready (the requested check begins at ${next}: 10 minutes after the last requested one)`,
  ])
  await world.pass(600)
  await world.settle()
  expect([checks, await ready()]).toEqual([2, 'vol1: 1 ready'])
})

test('movers that download and movers that write back receive the region of a bucket', async () => {
  const world = await worldWith([{ options: { ...makeVolume().options, region: 'eu-central-1', resync: 'true' } }])
  const told: [string | undefined, string | undefined][] = []
  world.fate = (pod) => {
    const args = pod.spec.containers[0]?.args ?? []
    told.push([args[1], args.includes('--region') ? args[args.indexOf('--region') + 1] : undefined])
    return 'completes'
  }
  await world.settle()
  const path = await pathOf(world)
  await world.change({
    spec: { volumeConfigs: [makeVolume({ options: { ...makeVolume().options, resync: 'true' } })] },
  })
  await world.settle()
  expect(await pathOf(world)).toBe(path)
  await world.change(spec({ options: { ...makeVolume().options, region: 'eu-central-1', resync: 'true' } }))
  await world.use('trainer', path, 'n1')
  await world.pass(60)
  await world.end('trainer')
  await world.pass(60)

  expect(told).toEqual([
    ['download', 'eu-central-1'],
    ['upload', 'eu-central-1'],
  ])
})

test('data of another source is not refreshed from the new one', async () => {
  const volume = (folder: string) => ({
    readOnly: true,
    refreshIntervalSeconds: 60,
    options: { ...makeVolume().options, sourceURL: `s3://lake/${folder}/` },
  })
  const world = await worldWith([volume('sales')])
  await world.settle()
  const old = await directoryOf(world)
  const refreshed: (string | undefined)[] = []
  world.fate = (pod) => {
    const args = pod.spec.containers[0]?.args ?? []
    const isNew = args.includes('s3://lake/other/')
    if (isNew) refreshed.push(directoryOfMover(pod))
    return isNew ? failed('AccessDenied', false) : 'completes'
  }
  await world.change(spec(volume('other')))
  for (let i = 0; i < 4; i++) await world.pass(120)

  expect(refreshed.length).toBeGreaterThan(0)
  expect(refreshed).not.toContain(old)
  expect(world.disks.get(`n1:${old}`)).toBe('whole')
})

describe('resync', () => {
  const options = { ...makeVolume().options, resync: 'true' }
  const uploads = (world: VolumeWorld) => {
    const seen: string[][] = []
    world.fate = (pod) => {
      const args = pod.spec.containers[0]?.args ?? []
      if (args.includes('upload')) seen.push(args)
      return 'completes'
    }
    return seen
  }

  test('writes back, below its folder, when the last pod is done with the data', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    expect(seen).toEqual([])
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toEqual([])

    await world.end('trainer')
    await world.pass(60)

    expect(seen).toHaveLength(1)
    expect(seen[0]).toEqual(expect.arrayContaining(['--source', '/volume/data', '--target', 's3://lake/sales/']))
    await world.pass(600)
    expect(seen).toHaveLength(1)
    expect(world.movers()).toEqual([])
  })

  test('writes back before the data goes, however often that fails', async () => {
    const world = await worldWith([{ options }])
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.end('trainer')
    world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('AccessDenied', false))
    await world.deleteManager()
    for (let i = 0; i < 4; i++) await world.pass(60)
    expect(wholeOn(world)).toEqual(['n1'])
    expect((await world.manager())?.status?.message).toContain('changes are not written back: AccessDenied')

    const seen = uploads(world)
    for (let i = 0; i < 4; i++) await world.pass(600)

    expect(seen).toHaveLength(1)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  describe('of a source that is no longer in the spec', () => {
    const other = { ...options, sourceURL: 's3://lake/other/' }
    const targets = (seen: string[][]) => seen.map((args) => args[args.indexOf('--target') + 1])

    /** A world in which a pod has changed the data of n1, and the spec was changed before the pod ended. */
    async function changed(volumes: object[], replicas = 1) {
      const world = await worldWith([{ options, replicas }])
      const seen = uploads(world)
      await world.settle()
      await world.use('trainer', await pathOf(world), 'n1')
      await world.pass(60)
      await world.change({ spec: { volumeConfigs: volumes } })
      await world.pass(60)
      await world.end('trainer')
      for (let i = 0; i < 4; i++) await world.pass(60)
      return { world, seen }
    }

    test('changes are not written to the new source, and the data stays', async () => {
      const { world, seen } = await changed([makeVolume({ options: other })])

      expect(targets(seen)).toEqual([])
      expect([...world.disks.values()]).toEqual(['whole', 'whole'])
      const { status } = (await world.manager()) ?? {}
      expect(status).toMatchObject({ state: 'Failed', ready: '1/1', volumes: [{ message: 'success' }] })
      expect(status?.message).toMatch(
        /^failed to write back changes: vol1: n1: .* no longer has their source; restore it, or annotate/,
      )
      expect(status?.conditions).toContainEqual(expect.objectContaining({ type: 'Ready', status: 'True' }))
    })

    test('changes are written back when the spec has the source again', async () => {
      const { world, seen } = await changed([makeVolume({ options: other })])
      await world.change({ spec: { volumeConfigs: [makeVolume({ options })] } })
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    test('changes are written back to the same source, whatever else of the volume is new', async () => {
      const { world, seen } = await changed([makeVolume({ options: { ...options, exclude: '*.tmp' } })])

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    describe('on a node that was replaced', () => {
      /** The node has its old disk. The controller has observed it, and no mover has looked yet whether the data is there. */
      async function unchecked() {
        const world = await worldWith([{ options }])
        await world.settle()
        const path = await pathOf(world)
        await world.use('trainer', path, 'n1')
        world.write(path, 'n1')
        await world.pass(60)
        await world.unuse('trainer')
        const [disks, written] = [[...world.disks], [...world.changed]]
        await world.removeNode('n1')
        await world.addNode('n1')
        for (const [place, state] of disks) world.disks.set(place, state)
        for (const place of written) world.changed.add(place)
        await world.reconcile()
        expect((await world.volume())?.replicas).toMatchObject([{ state: 'Queued', isUnchecked: true }])
        return { world, seen: uploads(world) }
      }

      test('are written back before the data is deleted with its VolumeManager', async () => {
        const { world, seen } = await unchecked()
        await world.deleteManager()
        await world.reconcile()
        expect((await world.manager())?.status?.message).toMatch(/n1 was replaced; a mover checks its data/)
        for (let i = 0; i < 4; i++) await world.pass(60)

        expect(targets(seen)).toEqual(['s3://lake/sales/'])
        expect([await world.manager(), world.disks.size, world.violations]).toEqual([undefined, 0, []])
      })

      test('stay with the reason while no mover can look for them', async () => {
        const { world } = await unchecked()
        world.fate = (pod) => (isDelete(pod) ? 'completes' : failed('AccessDenied', false))
        await world.deleteManager()
        for (let i = 0; i < 20; i++) await world.pass(60)

        expect((await world.manager())?.status).toMatchObject({
          state: 'Failed',
          message: expect.stringMatching(/vol1: n1: changes are not written back: AccessDenied: .*delete-in-use=true/),
        })
        await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
        world.changed.clear()
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([await world.manager(), world.disks.size, world.violations]).toEqual([undefined, 0, []])
      })

      test.each([
        { name: 'was removed', volumes: [makeVolume({ id: 'vol2' })] },
        { name: 'has another source', volumes: [makeVolume({ options: other })] },
        { name: 'has other objects', volumes: [makeVolume({ options: { ...options, exclude: '*.tmp' } })] },
      ])('stay while the volume $name, until it is restored', async ({ volumes }) => {
        const { world, seen } = await unchecked()
        await world.change({ spec: { volumeConfigs: volumes } })
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([targets(seen), world.violations]).toEqual([[], []])
        expect(wholeOn(world)).toContain('n1')
        expect((await world.manager())?.status).toMatchObject({
          state: 'Failed',
          message: expect.stringMatching(/the spec no longer has their source; restore it/),
        })

        await world.change({ spec: { volumeConfigs: [makeVolume({ options })] } })
        for (let i = 0; i < 4; i++) await world.pass(60)
        expect([targets(seen), world.violations]).toEqual([['s3://lake/sales/'], []])
        expect((await world.manager())?.status?.state).toBe('Running')
      })
    })

    test('an upload that runs ends at the old source', async () => {
      const world = await worldWith([{ options }])
      await world.settle()
      await world.use('trainer', await pathOf(world), 'n1')
      await world.pass(60)
      world.fate = () => 'goes on'
      await world.end('trainer')
      await world.pass(60)
      await world.change({ spec: { volumeConfigs: [makeVolume({ options: other })] } })
      await world.pass(5)
      const seen = uploads(world)
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect(targets(seen)).toEqual(['s3://lake/sales/'])
      expect((await world.manager())?.status?.state).toBe('Running')
      expect(world.disks.size).toBe(1)
    })

    test.each([
      { name: 'was removed', volumes: [makeVolume({ id: 'vol2' })] },
      { name: 'has another source', volumes: [makeVolume({ options: other })] },
    ])('of a volume that $name, changes stay until an annotation gives them up', async ({ volumes }) => {
      const { world, seen } = await changed(volumes)
      expect(targets(seen)).toEqual([])
      expect(wholeOn(world)).toContain('n1')
      expect((await world.manager())?.status).toMatchObject({ state: 'Failed' })

      await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
      for (let i = 0; i < 4; i++) await world.pass(60)
      expect(world.disks.size).toBe(1)
      expect((await world.manager())?.status?.state).toBe('Running')
    })

    test('a deletion names changes of a volume that was removed', async () => {
      const { world } = await changed([makeVolume({ id: 'vol2' })])
      await world.deleteManager()
      for (let i = 0; i < 4; i++) await world.pass(60)

      expect((await world.manager())?.status?.message).toMatch(
        /^the data is not deleted: vol1: n1: changes are not written back: .*; annotate lodestone.dev\/delete-in-use=true/,
      )
      await world.change({ metadata: { annotations: { 'lodestone.dev/delete-in-use': 'true' } } })
      for (let i = 0; i < 4; i++) await world.pass(60)
      expect(await world.manager()).toBeUndefined()
      expect(world.disks.size).toBe(0)
    })

    test('a volume that is not written back any more loses its data without them', async () => {
      const { world, seen } = await changed([makeVolume({ options: { ...other, resync: 'false' } })])

      expect(targets(seen)).toEqual([])
      expect(world.disks.size).toBe(1)
      expect((await world.manager())?.status?.state).toBe('Running')
    })
  })

  test.each([
    { name: 'is deleted', end: (world: VolumeWorld) => world.deleteManager() },
    {
      name: 'is Completed',
      end: (world: VolumeWorld) => world.change({ spec: { state: 'Completed' } }),
    },
  ])('a volume with a spec that is forbidden now names its changes when it $name', async ({ end }) => {
    const world = await worldWith([{ options }])
    await world.settle()
    const path = await pathOf(world)
    await world.use('trainer', path, 'n1')
    await world.pass(60)
    world.settings = { ...world.settings, allowedRoots: ['/elsewhere'] }
    await end(world)
    await world.unuse('trainer')
    await world.pass(60)

    expect((await world.manager())?.status).toMatchObject({
      state: 'Failed',
      message: expect.stringMatching(
        /^the data is not deleted: vol1: n1: changes are not written back: InvalidSpec: .*; annotate lodestone.dev\/delete-in-use=true/,
      ),
    })
    expect(wholeOn(world)).toEqual(['n1'])
  })

  test.each([
    { name: 'hangs', isBegun: true, reason: 'Stalled' },
    { name: 'never begins', isBegun: false, reason: 'PrepareTimeout' },
  ])('is given up by a mover that $name, and done by another one', async ({ isBegun, reason }) => {
    const world = await worldWith([{ options }])
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.end('trainer')
    world.fate = () => 'goes on'
    if (isBegun) await world.settle()
    else for (let i = 0; i < 4; i++) await world.reconcile()
    expect(world.movers()).toHaveLength(1)

    world.now += 1801_000
    await world.reconcile()
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready', upload: { state: 'Failed', reason } }])
    expect(world.movers()).toEqual([])

    const seen = uploads(world)
    await world.pass(60)
    expect(seen).toHaveLength(1)
    expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('upload')
  })

  test('writes back now and then while pods are at work, if an interval is given', async () => {
    const world = await worldWith([{ options: { ...options, resyncInterval: '5m' } }])
    const seen = uploads(world)
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.settle()
    for (let i = 0; i < 11; i++) await world.pass(60)

    expect(seen).toHaveLength(2)
  })

  test('while pods are at work is as often as asked for, however short the interval', async () => {
    const world = await worldWith([{ options: { ...options, resyncInterval: '20s' } }])
    const seen = uploads(world)
    await world.settle()
    await world.use('trainer', await pathOf(world), 'n1')
    await world.settle()

    const waitMs = (await world.reconcile()) ?? Number.POSITIVE_INFINITY
    expect(waitMs).toBeLessThanOrEqual(20_000)
    await world.pass(waitMs / 1000)
    expect(seen).toHaveLength(1)
  })

  test.each([
    { name: 'as ours', nodesAheadMs: 0 },
    { name: 'behind', nodesAheadMs: -30_000 },
    { name: 'ahead', nodesAheadMs: 30_000 },
    { name: 'an hour ahead', nodesAheadMs: 3_600_000 },
  ])('writes back once what a Job did that came and went unseen, by a clock $name', async ({ nodesAheadMs }) => {
    const world = await worldWith([{ options }])
    world.nodesAheadMs = nodesAheadMs
    const seen = uploads(world)
    await world.settle()
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toHaveLength(1)
    for (let i = 0; i < 5; i++) await world.pass(20)
    expect(seen).toHaveLength(1)

    world.restart()
    await world.cameAndWent('again', await pathOf(world), 'n1')
    await world.unuse('trainer')
    for (let i = 0; i < 5; i++) await world.pass(20)

    expect(seen).toHaveLength(2)
    expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('inUse')
  })

  test('writes back before the data goes what a Job did while Lodestone was away', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    await world.pass(60)
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(seen).toHaveLength(1)
    expect(await world.manager()).toBeUndefined()
    expect(world.disks.size).toBe(0)
  })

  test('writes back what a Job did on a node that could not say so for a while', async () => {
    const world = await worldWith([{ options }], ['n1'])
    const seen = uploads(world)
    await world.settle()
    await world.setCondition('n1', 'Ready', 'Unknown')
    await world.pass(301)
    expect(await replicaStates(world)).toContain('Unreachable')
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    expect(seen).toEqual([])

    await world.setCondition('n1', 'Ready', 'True')
    await world.pass(60)

    expect(seen).toHaveLength(1)
  })

  test('of data without a user since its download writes nothing', async () => {
    const world = await worldWith([{ options }], ['n1'])
    await world.settle()
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.pass(60)
    await world.change({ spec: { state: 'Completed' } })
    for (let i = 0; i < 3; i++) await world.pass(60)
    expect(world.disks.size).toBe(0)
    const seen = uploads(world)
    await world.change({ spec: { state: 'Running' } })
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(wholeOn(world)).toEqual(['n1'])
    expect(seen).toEqual([])
  })

  test('of data that was never used writes nothing', async () => {
    const world = await worldWith([{ options }])
    const seen = uploads(world)
    await world.settle()
    await world.deleteManager()
    for (let i = 0; i < 3; i++) await world.pass(60)

    expect(seen).toEqual([])
    expect(await world.manager()).toBeUndefined()
  })
})

test('a stream without a source is an empty directory on its nodes, ready when created', async () => {
  const world = await worldWith([{ sourceType: 'Stream', options: {} }])
  const seen: string[] = []
  world.fate = (pod) => {
    seen.push(pod.spec.containers[0]?.args?.[1] ?? '')
    return 'completes'
  }
  await world.settle()

  expect(seen).toEqual(['prepare'])
  expect(await world.nodesOf()).toEqual(['n1'])
})

test('a stream with a source is ready from its first bytes on', async () => {
  const world = await worldWith([{ sourceType: 'Stream' }])
  world.fate = () => 'goes on'
  await world.settle()
  expect((await world.manager())?.status?.state).toBe('Pending')
  expect(await world.reconcile()).toBeLessThanOrEqual(5_000)
  const name = `${world.movers()[0]?.metadata.name}.data-path-progress`
  const message = JSON.stringify({ v: 1, attempt: 1, doneBytes: 1024 })
  await world.store.create(EVENTS, {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    message,
  } as K8sObject)

  await world.pass(5)

  expect((await world.manager())?.status?.state).toBe('Running')
  expect(await world.nodesOf()).toEqual(['n1'])
})

test('a message of another attempt, or an unreadable one, is no progress', async () => {
  const world = await worldWith([{}])
  world.fate = () => 'goes on'
  await world.settle()
  const name = `${world.movers()[0]?.metadata.name}.data-path-progress`
  const said = (message: string) => ({
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name, namespace: 'default' },
    message,
  })
  const event = await world.store.create(EVENTS, said(JSON.stringify({ v: 1, attempt: 7, doneBytes: 1024 })))
  await world.pass(30)
  expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('bytes')
  await world.store.update(EVENTS, { ...event, ...said('no JSON'), metadata: event.metadata })

  await world.pass(30)

  expect((await world.volume())?.replicas).toMatchObject([{ state: 'Downloading' }])
  expect((await world.volume())?.replicas?.[0]).not.toHaveProperty('bytes')
})

describe('a node that is short of disk', () => {
  async function cramped() {
    const world = await new VolumeWorld().start('n1')
    const cache = { evictionPolicy: 'LeastRecentlyUsed' as const }
    await world.store.create(volumeManagers, makeVolumeManager([cache], { name: 'old' }))
    await world.settle()
    world.now += 60_000
    await world.store.create(volumeManagers, makeVolumeManager([cache], { name: 'new' }))
    await world.store.create(volumeManagers, makeVolumeManager([{}], { name: 'kept' }))
    await world.settle()
    await world.setCondition('n1', 'DiskPressure', 'True')
    return world
  }
  /** A node whose data of `old` was evicted, and that has free disk again. */
  async function afterEviction() {
    const world = await cramped()
    await world.evict('n1')
    for (let i = 0; i < 3; i++) await world.pass(10)
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    expect(await stateOf(world, 'old')).toBe('Evicted')
    return world
  }
  const stateOf = async (world: VolumeWorld, name: string) => (await world.volume('vol1', name))?.replicas?.[0]?.state

  test('loses the data that was used longest ago, one at a time, of those that allow it', async () => {
    const world = await cramped()
    await world.evict('n1')
    await world.settle()
    await world.pass(10)
    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Evicted', 'Ready'])
    expect(world.disks.size).toBe(2)
    expect(world.events.map(({ reason }) => reason)).toContain('ReplicaEvicted')

    expect(await world.evict('n1')).toBeGreaterThan(200_000)
    expect(await stateOf(world, 'new')).toBe('Ready')
    world.now += 300_000
    await world.evict('n1')
    expect(await stateOf(world, 'new')).toBe('Evicted')
    await world.pass(10)
    world.now += 300_000
    await world.evict('n1')
    expect(await stateOf(world, 'kept')).toBe('Ready')
  })

  test('keeps new data that a waiting mover brings while the old data is deleted', async () => {
    const world = await new VolumeWorld().start('n1')
    const cache = makeVolume({ evictionPolicy: 'LeastRecentlyUsed' })
    await world.store.create(volumeManagers, makeVolumeManager([cache]))
    await world.settle()
    await world.addNode('n2')
    await world.change({ spec: { volumeConfigs: [{ ...cache, replicas: 2 }] } })
    for (let i = 0; i < 2; i++) await world.reconcile()
    // The mover for n2 finds no room there, and then n1 loses its node label.
    await world.taint('n2', { key: 'maintenance', effect: 'NoSchedule' })
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.evict('n1')
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(world.violations).toEqual([])
    expect((await world.volume())?.replicas?.filter(({ state }) => state === 'Ready').map(({ node }) => node)).toEqual([
      'n1',
    ])
    expect([...world.disks.values()]).toEqual(['whole'])
  })

  test('is relieved in a minute if movers report the disk, and loses no more than needed', async () => {
    const world = await new VolumeWorld().start('n1')
    // Each replica has 4 % of the disk, and other programs have 56 %.
    world.disk = () => ({ freeBytes: 44 - 4 * world.disks.size, totalBytes: 100 })
    for (let i = 0; i < 10; i++) {
      const cache = makeVolumeManager([{ evictionPolicy: 'LeastRecentlyUsed' }], { name: `cache-${i}` })
      await world.store.create(volumeManagers, cache)
      await world.settle()
    }
    await world.setCondition('n1', 'DiskPressure', 'True')
    const passed = async (seconds: number) => {
      for (let second = 0; second < seconds; second += 5) {
        await world.evict('n1')
        await world.pass(5)
      }
      return world.disks.size
    }

    expect([await passed(60), await passed(200)]).toEqual([6, 6])
    // The kubelet may mean another disk.
    expect(await passed(100)).toBe(5)
  })

  test('keeps what a pod uses, and what was used lately', async () => {
    const world = await cramped()
    await world.use('reader', (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? '', 'n1')
    await world.settle()
    await world.evict('n1')

    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Ready', 'Evicted'])
  })

  test('keeps what a Job used last, although the loop does not know its end yet', async () => {
    const world = await cramped()
    world.now += 60_000
    await world.cameAndWent('trainer', (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? '', 'n1')
    await world.evict('n1')

    expect([await stateOf(world, 'old'), await stateOf(world, 'new')]).toEqual(['Ready', 'Evicted'])
  })

  test('keeps what a Job changed that came and went unseen, until that is written back', async () => {
    const world = await new VolumeWorld().start('n1')
    const options = { ...makeVolume().options, resync: 'true' }
    await world.store.create(volumeManagers, makeVolumeManager([{ options, evictionPolicy: 'LeastRecentlyUsed' }]))
    await world.settle()
    await world.pass(60)
    await world.cameAndWent('trainer', await pathOf(world), 'n1')
    await world.setCondition('n1', 'DiskPressure', 'True')
    await world.evict('n1')
    expect(await stateOf(world, 'sales')).toBe('Ready')

    await world.pass(60)
    await world.evict('n1')

    expect(await stateOf(world, 'sales')).toBe('Evicted')
  })

  test('gets the data again when a pod waits for it', async () => {
    const world = await cramped()
    await world.evict('n1')
    for (let i = 0; i < 3; i++) await world.pass(10)
    const path = (await world.volume('vol1', 'old'))?.volumeSource?.hostPath?.path ?? ''
    expect((await world.manager('old'))?.status?.state).toBe('Pending')
    expect(path).not.toBe('')
    await world.setCondition('n1', 'DiskPressure', 'False')
    await world.settle()
    expect(await stateOf(world, 'old')).toBe('Evicted')

    await world.use('waiting', path)
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('gets the data again when a Workload of Kueue without pods waits for it', async () => {
    const world = await afterEviction()
    await world.store.create(admissionChecks, makeAdmissionCheck())
    const workload = makeKueueWorkload({ volumes: '{"name":"old"}' })
    await world.store.create(kueueWorkloads, workload)
    const { status } = workload
    const of = { namespace: 'default', name: 'job-train' }
    await world.store.patch(kueueWorkloads, of, { status }, { subresource: 'status' })
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('gets the data again for a DaemonSet, which has no pods before that', async () => {
    const world = await afterEviction()
    const daemonSets = SHIPPED_KINDS.find('apps/v1', 'DaemonSet')?.type as ResourceType
    await world.store.create(daemonSets, makeDaemonSet('{"name":"old"}'))
    await world.settle()

    expect((await world.manager('old'))?.status?.state).toBe('Running')
  })

  test('is left alone where eviction is off', async () => {
    const world = await cramped()
    world.settings = { ...world.settings, eviction: { ...world.settings.eviction, enabled: false } }
    await world.evict('n1')

    expect(await stateOf(world, 'old')).toBe('Ready')
  })
})

describe('the queue of movers', () => {
  test('runs as many as are allowed in all, none waits as a pod, and all get their turn', async () => {
    const world = await new VolumeWorld().start('n1', 'n2', 'n3')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 2 } }
    let most = 0
    world.fate = () => {
      most = Math.max(
        most,
        world.movers().filter(({ status }) => !['Succeeded', 'Failed'].includes(status?.phase ?? '')).length,
      )
      return 'completes'
    }
    for (const name of ['a', 'b', 'c', 'd']) {
      await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 3 }], { name }))
    }
    await world.settle()

    expect(most).toBe(2)
    for (const name of ['a', 'b', 'c', 'd']) expect((await world.manager(name))?.status?.state).toBe('Running')
  })

  test('goes by priority, and then by waiting time', async () => {
    const world = await new VolumeWorld().start('n1')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 1 } }
    const order: (string | undefined)[] = []
    world.fate = (pod) => {
      order.push(pod.metadata.labels?.['vckname'])
      return 'completes'
    }
    for (const [name, priority] of [
      ['first', 0],
      ['second', 0],
      ['urgent', 10],
    ] as const) {
      await world.store.create(volumeManagers, makeVolumeManager([{ priority }], { name }))
      // The controller sees the queue before any mover starts.
      await world.reconcile(name)
      await world.reconcile(name)
      world.now += 1000
    }
    await world.settle()

    expect(order).toEqual(['urgent', 'first', 'second'])
  })

  test('goes past those that wait for a node and not for a turn', async () => {
    const world = await new VolumeWorld().start('n1')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxInAll: 1 } }
    await world.store.create(volumeManagers, makeVolumeManager([{ replicas: 3 }], { name: 'greedy' }))
    await world.settle()
    await world.store.create(volumeManagers, makeVolumeManager([{}], { name: 'modest' }))
    await world.settle()

    expect((await world.manager('modest'))?.status?.state).toBe('Running')
  })

  test('puts no more on a node than allowed, although some pods are not scheduled yet', async () => {
    const world = await new VolumeWorld().start('n1', 'n2')
    world.settings = { ...world.settings, movers: { ...world.settings.movers, maxPerNode: 2 } }
    world.fate = () => 'goes on'
    const names = ['a', 'b', 'c', 'd', 'e']
    for (const name of names) await world.store.create(volumeManagers, makeVolumeManager([{}], { name }))
    for (let i = 0; i < 3; i++) for (const name of names) await world.reconcile(name)
    expect(world.movers().map(({ spec: { nodeName } }) => nodeName)).toEqual(Array(4).fill(undefined))
    for (let i = 0; i < 3; i++) await world.live()
    await world.settle()

    const placed = world.movers().map(({ spec: { nodeName } }) => nodeName)
    expect(placed.toSorted()).toEqual(['n1', 'n1', 'n2', 'n2'])
    expect((await world.volume('vol1', 'e'))?.replicas).toMatchObject([{ state: 'Queued', reason: 'NoNode' }])
  })
})

test('a mover that the API server rejects is a failure, and is created again', async () => {
  const world = await worldWith([{}])
  world.refuse = 'pods "vck-resource" is forbidden: violates PodSecurity "baseline:latest": hostPath volumes'
  await world.settle()
  expect((await world.manager())?.status).toMatchObject({
    state: 'Failed',
    volumes: [{ message: expect.stringContaining('CreateRefused: pods "vck-resource" is forbidden') }],
  })

  world.refuse = undefined
  for (let i = 0; i < 3; i++) await world.pass(120)

  expect((await world.manager())?.status?.state).toBe('Running')
})

test('a volume reads its source with the role of a ServiceAccount, without a Secret', async () => {
  const { awsCredentialsSecretName: _, ...options } = makeVolume().options ?? {}
  const accounts: Record<string, string | undefined> = {}
  const world = await new VolumeWorld().start('n1')
  world.settings = {
    ...world.settings,
    checks: { intervalSeconds: 3600, timeoutSeconds: 60 },
    movers: { ...world.settings.movers, stsEndpoint: 'https://sts.example.org' },
  }
  world.fate = ({ spec }) => {
    const { args = [], env = [] } = spec.containers[0] ?? {}
    const sts = env.find(({ name }) => name === 'AWS_ENDPOINT_URL_STS')?.value
    accounts[args[1] ?? ''] = [spec.serviceAccountName, ...(sts ? [sts] : [])].join(' ')
    return 'completes'
  }
  const config = { options: { ...options, resync: 'true' }, mover: { serviceAccountName: 'reader' } }
  await world.store.create(volumeManagers, makeVolumeManager([config]))
  await world.settle()
  await world.use('trainer', (await world.volume())?.volumeSource?.hostPath?.path ?? '', 'n1')
  await world.pass(60)
  await world.end('trainer')
  for (let i = 0; i < 2; i++) await world.pass(3600)
  await world.deleteManager()
  for (let i = 0; i < 3; i++) await world.pass(60)

  expect(accounts).toEqual({
    download: 'reader https://sts.example.org',
    upload: 'reader https://sts.example.org',
    check: 'lodestone-mover',
    delete: 'lodestone-mover',
  })
  expect(await world.store.read(roleBindings, 'default', 'lodestone-mover.reader')).toBeDefined()
  expect(await world.store.read(serviceAccounts, 'default', 'reader')).toBeUndefined()
})

test('movers have their ServiceAccount, also in a namespace that was created again', async () => {
  const world = await worldWith([{}])
  await world.settle()
  const account = await world.store.read(serviceAccounts, 'default', 'lodestone-mover')
  expect(account).toBeDefined()
  if (account) await world.store.delete(serviceAccounts, account)
  world.refuse = 'pods "vck-resource" is forbidden: error looking up service account'
  await world.change(spec({ replicas: 2 }))
  await world.settle()

  world.refuse = undefined
  await world.pass(120)

  expect(await world.store.read(serviceAccounts, 'default', 'lodestone-mover')).toBeDefined()
  expect(await world.nodesOf()).toEqual(['n1', 'n2'])
})

test('a VolumeManager that went without its finalizer leaves no movers behind', async () => {
  const world = await worldWith([{}])
  world.fate = () => 'goes on'
  await world.settle()
  expect(world.movers()).toHaveLength(1)
  await world.change({ metadata: { finalizers: null } })
  await world.deleteManager()
  await world.reconcile()

  expect(world.movers()).toEqual([])
})

describe('a scheduled check', () => {
  const checked = async (worldOf: Promise<VolumeWorld>) => {
    const world = await worldOf
    world.settings = { ...world.settings, checks: { intervalSeconds: 3600, timeoutSeconds: 60 } }
    await world.settle()
    return world
  }
  const isCheck = (pod: { metadata: { labels?: Record<string, string> } }) =>
    pod.metadata.labels?.['lodestone.dev/mover'] === 'check'

  test('that finds lost data has it downloaded again on its node, with an Event', async () => {
    const world = await checked(worldWith([{ replicas: 2 }]))
    const [lost = ''] = await world.nodesOf()
    world.fate = (pod) =>
      isCheck(pod) && pod.spec.nodeName === lost ? failed('DataMissing', true, 'it is gone') : 'completes'
    world.disks.delete(`${lost}:${await directoryOf(world)}`)
    await world.pass(3600)
    world.fate = () => 'completes'
    await world.settle()

    expect(await world.nodesOf()).toHaveLength(2)
    expect(world.events).toContainEqual(
      expect.objectContaining({ reason: 'ReplicaLost', message: `vol1 on ${lost}: DataMissing: it is gone` }),
    )
    expect((await world.volume())?.replicas).toMatchObject([{ state: 'Ready' }, { state: 'Ready' }])
    // Until the check.
    expect(new Set(world.violations)).toEqual(new Set([`${lost} has a label and no data`]))
  })

  test('that cannot run changes nothing, and does not start on a node that is not ready', async () => {
    const world = await checked(worldWith([{}]))
    const [node = ''] = await world.nodesOf()
    world.fate = () => failed('Unexpected', true, 'i/o timeout')
    await world.pass(3600)
    const { maintenances = 0, ...replica } = (await world.volume())?.replicas?.[0] ?? {}
    await world.setCondition(node, 'Ready', 'Unknown')
    for (let i = 0; i < 4; i++) await world.pass(60)

    expect(replica).toMatchObject({ state: 'Ready', maintenance: { state: 'Failed', reason: 'Unexpected' } })
    expect(maintenances).toBeGreaterThan(0)
    expect((await world.volume())?.replicas?.[0]?.maintenances).toBe(maintenances)
    expect([...world.downloads.values()]).toEqual([1])
  })

  test('does not delay the deletion of its VolumeManager', async () => {
    const world = await checked(worldWith([{}]))
    world.fate = (pod) => (isCheck(pod) ? 'goes on' : 'completes')
    await world.pass(3600)
    expect(world.movers().filter(isCheck)).toHaveLength(1)

    await world.deleteManager()
    await world.settle()
    await world.pass(60)

    expect([await world.manager(), world.movers().length, world.disks.size]).toEqual([undefined, 0, 0])
  })
})

test('Local data is used on nodes on which a mover found it, and nothing is changed', async () => {
  const nodeAffinity = {
    requiredDuringSchedulingIgnoredDuringExecution: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'imagenet', operator: 'Exists' }] }],
    },
  }
  const options = { path: '/mnt/local/imagenet' }
  const world = await worldWith([{ sourceType: 'Local', options, nodeAffinity }])
  await world.settle()
  expect((await world.manager())?.status?.state).toBe('Failed')

  await world.addNode('n4', { labels: { imagenet: 'yes' } })
  await world.settle()

  expect(await world.volume()).toMatchObject({
    message: 'success',
    volumeSource: { hostPath: { path: '/mnt/local/imagenet' } },
    replicas: [{ state: 'Ready', node: 'n4' }],
  })
  await world.addNode('n5', { labels: { imagenet: 'yes' } })
  world.fate = () =>
    ended('Failed', { message: moverSays({ code: 'Unexpected', message: 'EIO: i/o error', retry: false }) })
  await world.settle()
  expect(await world.volume()).toMatchObject({
    message: 'success',
    replicas: [{ state: 'Ready' }, { state: 'Failed', node: 'n5', message: 'EIO: i/o error' }],
  })
  expect(await world.nodesOf()).toEqual(['n4'])

  await world.deleteManager()
  await world.settle()
  expect(await world.manager()).toBeUndefined()
  expect([...world.disks.keys()]).toEqual(['n4:/mnt/local/imagenet'])
})

test('only one mover of Local data at a time takes a slot while it waits for its node', async () => {
  const options = { path: '/mnt/local/imagenet' }
  const world = await new VolumeWorld().start('n1', 'n2', 'n3')
  const config = { sourceType: 'Local', options, replicas: 3, nodeAffinity: LINUX }
  await world.store.create(volumeManagers, makeVolumeManager([makeVolume(config)]))
  const message = '3 Insufficient memory'
  const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }]
  for (let i = 0; i < 6; i++) {
    await world.reconcile()
    for (const pod of world.movers()) await world.setStatus(pod, { phase: 'Pending', conditions })
  }

  expect(world.movers()).toHaveLength(1)
  expect((await world.volume())?.replicas?.map(({ reason }) => reason)).toEqual(['Unschedulable', 'NoNode', 'NoNode'])
})

test('a Local directory that becomes a symbolic link has no pods after the next check', async () => {
  const options = { path: '/mnt/local/imagenet' }
  const world = await worldWith([{ sourceType: 'Local', options, nodeAffinity: ON_N1 }])
  world.settings = { ...world.settings, checks: { intervalSeconds: 86_400, timeoutSeconds: 60 } }
  await world.settle()
  expect(await world.nodesOf()).toEqual(['n1'])

  world.fate = () =>
    ended('Failed', {
      message: moverSays({ code: 'LinkInPath', message: 'imagenet is a symbolic link', retry: false }),
    })
  await world.pass(86_400)
  expect(await world.nodesOf()).toEqual([])
  expect((await world.volume())?.replicas).toMatchObject([{ state: 'Failed', reason: 'LinkInPath', node: 'n1' }])
  expect((await world.manager())?.status?.state).toBe('Failed')
  expect(world.events.map(({ reason }) => reason)).toContain('ReplicaLost')

  world.fate = () => 'completes'
  await world.pass(600)
  expect(await world.nodesOf()).toEqual(['n1'])
})

const ON_N1 = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }] }],
  },
}
const LINUX = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] }],
  },
}
const NAMED_N4 = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n4'] }] }

function isDelete({ metadata }: { metadata: { labels?: Record<string, string> } }): boolean {
  return metadata.labels?.['lodestone.dev/mover'] === 'delete'
}
