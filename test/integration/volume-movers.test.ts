/** The movers of VolumeManagers on a store in memory: how they fail, how they share nodes, and which wait. */
import { describe, expect, test } from 'vitest'
import { serviceAccounts } from '../../src/api/dependencies.ts'
import { events as EVENTS } from '../../src/api/event.ts'
import { type PodStatus, pods } from '../../src/api/pod.ts'
import { roleBindings } from '../../src/api/rbac.ts'
import { volumeManagers } from '../../src/api/volume-manager.ts'
import { directoryOfMover } from '../../src/core/volume-manager/mover/affinity.ts'
import { makeVolume, makeVolumeManager } from '../builders.ts'
import { ended, moverSays, VolumeWorld } from '../volume-world.ts'
import { failed, isDelete, pathOf, spec, tell, worldWith } from './volume-steps.ts'

const notOn = (...hosts: string[]) => {
  const notOnHosts = { key: 'kubernetes.io/hostname', operator: 'NotIn', values: hosts }
  return { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [notOnHosts] }] } }
}

const LINUX = {
  requiredDuringSchedulingIgnoredDuringExecution: {
    nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] }],
  },
}

const NAMED_N4 = { matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n4'] }] }

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
